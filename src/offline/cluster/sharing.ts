// What happens on one GPU while nothing changes: how fast each job runs, how long requests take, what the meters show.
// The function is pure, and the truth of a pair is an argument.
//
// With several jobs, what each pair retains is multiplied, for requests as for jobs. KACE's artifact has measurements of
// three and four clients without SM shares: composing its pairs so errs by +0.04 and +0.02 of retained throughput on
// average, and by +0.07 and +0.09 if additional slowdowns are added (docs/results/prediction.md).
import type { Truth } from "./truth.ts";
import { aloneAt, smNeed, type Workload } from "./workload.ts";

/** How a GPU is shared: side by side with shares of the SMs, or in turns. */
export type Mechanism = "space" | "time" | "priority-time";

/**
 * The part of the contended time that switches cost. A switch between processes takes 140 us, and a slice is about 2 ms
 * (docs/results/hardware.md).
 */
const SWITCH_LOSS = 0.07;
/** With priority, a request still waits for the slice that runs. This part of the cost of equal turns remains. */
const PRIORITY_LEAK = 0.25;

export interface Tenant {
  readonly workload: Workload;
  /** The share of the SMs. It has an effect in "space" only. */
  readonly share: number;
  /** False while it restarts. */
  readonly working: boolean;
  /** How this start differs from other starts of its pair; about 1. */
  readonly luck: number;
}

export interface Sharing {
  /** Service time of a request, divided by that alone; at least 1. */
  readonly slowdown: number;
  /** Retained throughput of each tenant, 0 to 1; 0 while it restarts. */
  readonly retained: readonly number[];
  /** The part of the time in which a kernel runs. */
  readonly busy: number;
  /** The part of the SMs in use, averaged over time: by the online side, and by both sides. */
  readonly onlineActivity: number;
  readonly activity: number;
}

/**
 * `load`: that of the online side if it were alone. Its requests take longer co-located, so it is at work for longer.
 */
export function share(
  online: Workload | undefined,
  load: number,
  tenants: readonly Tenant[],
  mechanism: Mechanism,
  truth: Truth,
): Sharing {
  const working = tenants.filter((one) => one.working);
  const slowdown = online ? slowdownOf(online, working, mechanism, truth) : 1;
  const atWork = Math.min(1, load * slowdown);
  const retained = tenants.map((one) =>
    one.working
      ? Math.min(1, retainedOf(one, working, { online, load, atWork, mechanism, truth }) * one.luck)
      : 0,
  );
  const onlineBusy = atWork * (online?.busy ?? 0);
  const onlineActivity = Math.min(1, load * (online ? online.busy * smNeed(online) : 0));
  let idle = 1 - onlineBusy;
  let activity = onlineActivity;
  tenants.forEach(({ workload, share: part }, i) => {
    const speed = retained[i] ?? 0;
    idle *= 1 - Math.min(1, workload.busy * (mechanism === "space" ? sign(speed) : speed));
    activity +=
      workload.busy *
      speed *
      (mechanism === "space" ? Math.min(smNeed(workload), part) : smNeed(workload));
  });
  return { slowdown, retained, busy: 1 - idle, onlineActivity, activity: Math.min(1, activity) };
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

interface Surroundings {
  readonly online: Workload | undefined;
  readonly load: number;
  readonly atWork: number;
  readonly mechanism: Mechanism;
  readonly truth: Truth;
}

function retainedOf(tenant: Tenant, tenants: readonly Tenant[], around: Surroundings): number {
  const { online, load, atWork, mechanism, truth } = around;
  const { workload, share: part } = tenant;
  if (mechanism !== "space") {
    const fair = 1 / tenants.length;
    if (!online) return fair;
    // Turns cost the jobs the GPU time of requests, and the switches. Priority costs them all the time in which
    // requests are there.
    const left =
      mechanism === "time"
        ? 1 - load * online.busy - atWork * SWITCH_LOSS
        : (1 - atWork) * (1 - SWITCH_LOSS);
    return Math.max(0, left) * fair;
  }
  const alone = aloneAt(workload, part);
  const beside = tenants.reduce(
    (left, one) => (one === tenant ? left : left * truth.beside(workload, one.workload, one.share)),
    1,
  );
  if (!online) return alone * beside;
  const together = truth.together(online, workload, part).offline;
  return (atWork * together + (1 - atWork) * alone) * beside;
}
