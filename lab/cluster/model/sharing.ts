// The state of one GPU while nothing changes: how fast each job runs, how long requests take, what the meters show.
// The function is pure, and the truth of a pair is an argument.
//
// With several jobs, the retained throughputs of the pairs are multiplied, for requests as for jobs. KACE's artifact
// has measurements of three and four clients without SM shares: composing its pairs so errs by +0.04 and +0.02 of
// retained throughput on average, and by +0.07 and +0.09 if additional slowdowns are added
// (docs/results/prediction.md).
import type { Truth } from "./truth.ts";
import { aloneAt, smNeed, type Workload } from "./workload.ts";

/** How a GPU is shared: side by side with shares of the SMs, or in turns. */
export type Mechanism = "space" | "time" | "priority-time";

/** The part of the contended time that switches cost: about one switch in each slice (src/policy/parameters/hardware.ts). */
const SWITCH_LOSS = 0.07;
/** With priority, a request still waits for the slice that runs. This part of the cost of equal turns remains. */
const PRIORITY_LEAK = 0.25;

export interface Tenant {
  readonly workload: Workload;
  /** The share of the SMs. It has an effect in "space" only. */
  readonly share: number;
  /** False while it restarts. */
  readonly working: boolean;
}

/** The state of a GPU, as numbers that lie side by side. Those of its tenants follow, `TENANT.width` for each. */
export const sharingNumbers = [
  /** Service time of a request, divided by that alone; at least 1. */
  "slowdown",
  /** The part of the time in which a kernel runs. */
  "busy",
  /** The part of the SMs in use, averaged over time: by the online side, and by both sides. */
  "onlineActivity",
  "activity",
] as const;
const [SLOWDOWN, KERNELS, ONLINE_ACTIVITY, ACTIVITY] = [0, 1, 2, 3] as const;
/** Where the numbers of the first tenant begin. */
export const TENANTS = sharingNumbers.length;
/**
 * The numbers of each tenant: its job's, which only the caller reads; how this start differs from others of its pair,
 * about 1; and its retained throughput, 0 to 1, which is 0 while it restarts.
 */
export const TENANT = { job: 0, luck: 1, retained: 2, width: 3 } as const;

// A guest is a tenant as numbers: a step changes the load of every GPU, and reads these for each of its jobs.
const GUEST_WIDTH = 6;
const WORKING = 0; // 1, or 0 while it restarts
const BUSY = 1; // the part of the time in which it keeps the GPU busy at full speed
const SMS = 2; // the part of the SMs that it uses then
const ALONE = 3; // what it retains in "space" while no request is served; in turns: its part of the turns
const TOGETHER = 4; // the same while a request is served
const BESIDE = 5; // what the other guests leave of both

/** All of a GPU's sharing that depends neither on the load nor on the tenants' luck. Many GPUs have the same. */
export interface Neighbours {
  readonly mechanism: Mechanism;
  readonly slowdown: number;
  /** The online side at a load of 1: the part of the time in which a kernel of it runs, and the SMs in use. */
  readonly busy: number;
  readonly sms: number;
  readonly hasOnline: boolean;
  /** The SMs that the tenants use together when they work, averaged over time. */
  readonly wanted: number;
  /** How many guests there are, and the numbers of one after the other. */
  readonly count: number;
  readonly guests: Float64Array;
}

export function neighboursOn(
  online: Workload | undefined,
  tenants: readonly Tenant[],
  mechanism: Mechanism,
  truth: Truth,
): Neighbours {
  const working = tenants.filter((one) => one.working);
  return {
    mechanism,
    slowdown: online ? slowdownOf(online, working, mechanism, truth) : 1,
    busy: online?.busy ?? 0,
    sms: online ? online.busy * smNeed(online) : 0,
    hasOnline: online !== undefined,
    wanted: tenants.reduce(
      (sum, { workload, share: part }) => sum + Math.min(part, smNeed(workload)) * workload.busy,
      0,
    ),
    count: tenants.length,
    guests: Float64Array.from(
      tenants.flatMap((one) => guestOf(one, working, online, mechanism, truth)),
    ),
  };
}

/**
 * Values that pairs of a service and one tenant share, once for all GPUs: a step then finds them in the processor's
 * cache.
 */
export interface PairCache {
  get(service: number, tenant: Tenant, compute: () => Neighbours): Neighbours;
}

export function pairCache(): PairCache {
  const pairs = new Map<Workload, Map<string, Neighbours>>();
  return {
    get(service, { workload, share, working }, compute) {
      const known = pairs.get(workload) ?? new Map<string, Neighbours>();
      pairs.set(workload, known);
      const key = `${service} ${share} ${working}`;
      const found = known.get(key) ?? compute();
      known.set(key, found);
      return found;
    },
  };
}

function guestOf(
  tenant: Tenant,
  tenants: readonly Tenant[],
  online: Workload | undefined,
  mechanism: Mechanism,
  truth: Truth,
): readonly number[] {
  const { workload, share: part, working } = tenant;
  const guest = [working ? 1 : 0, workload.busy, smNeed(workload), 0, 0, 1];
  if (!working) return guest;
  if (mechanism !== "space") {
    guest[ALONE] = 1 / tenants.length;
    return guest;
  }
  guest[SMS] = Math.min(smNeed(workload), part);
  guest[ALONE] = aloneAt(workload, part);
  guest[TOGETHER] = online ? truth.together(online, workload, part).offline : 0;
  for (const one of tenants)
    if (one !== tenant)
      guest[BESIDE] = (guest[BESIDE] ?? 1) * truth.beside(workload, one.workload, one.share);
  return guest;
}

/**
 * Computes what happens at a load, and writes it into `numbers` from `at` on, where the tenants' luck is already.
 * `load`: that of the online side if it were alone. Its requests take longer co-located, so it is at work for longer.
 */
export function atLoad(shared: Neighbours, load: number, numbers: Float64Array, at: number): void {
  const { mechanism, slowdown, guests, count } = shared;
  const atWork = Math.min(1, load * slowdown);
  let idle = 1 - atWork * shared.busy;
  let activity = Math.min(1, load * shared.sms);
  numbers[at + SLOWDOWN] = slowdown;
  numbers[at + ONLINE_ACTIVITY] = activity;
  for (let i = 0; i < count; i++) {
    const guest = i * GUEST_WIDTH;
    const tenant = at + TENANTS + i * TENANT.width;
    const working = guests[guest + WORKING] === 1;
    const speed = working
      ? Math.min(
          1,
          retainedOf(guest, shared, load, atWork) * (numbers[tenant + TENANT.luck] as number),
        )
      : 0;
    const busy = guests[guest + BUSY] as number;
    numbers[tenant + TENANT.retained] = speed;
    idle *= 1 - Math.min(1, busy * (mechanism === "space" ? sign(speed) : speed));
    activity += busy * speed * (guests[guest + SMS] as number);
  }
  numbers[at + KERNELS] = 1 - idle;
  numbers[at + ACTIVITY] = Math.min(1, activity);
}

const sign = (speed: number): number => (speed > 0 ? 1 : 0);

function slowdownOf(
  online: Workload,
  tenants: readonly Tenant[],
  mechanism: Mechanism,
  truth: Truth,
): number {
  if (tenants.length === 0) return 1;
  if (mechanism === "space")
    return (
      1 /
      tenants.reduce(
        (left, one) => left * truth.together(online, one.workload, one.share).online,
        1,
      )
    );
  // With equal turns, while a request keeps the GPU busy, the other side gets it for as long as the request does.
  const wanted = 1 - tenants.reduce((idle, one) => idle * (1 - one.workload.busy), 1);
  const turns = online.busy * wanted * (1 + SWITCH_LOSS);
  return 1 + turns * (mechanism === "time" ? 1 : PRIORITY_LEAK);
}

function retainedOf(
  guest: number,
  { hasOnline, mechanism, busy, guests }: Neighbours,
  load: number,
  atWork: number,
): number {
  const alone = guests[guest + ALONE] as number;
  const beside = guests[guest + BESIDE] as number;
  if (!hasOnline) return alone * beside;
  if (mechanism === "space")
    return (atWork * (guests[guest + TOGETHER] as number) + (1 - atWork) * alone) * beside;
  // Turns cost the jobs the GPU time of requests, and the switches. Priority costs them all the time in which requests
  // are there.
  const left =
    mechanism === "time"
      ? 1 - load * busy - atWork * SWITCH_LOSS
      : (1 - atWork) * (1 - SWITCH_LOSS);
  return Math.max(0, left) * alone;
}
