// What happens on one GPU while nothing changes: how fast each job runs, how long requests are served, what the
// meters show. Pure; the truth of a pair comes in.
//
// Several jobs: nobody published measurements of three clients, so what each pair leaves is taken to multiply, for
// requests as for jobs. It is the cautious one of two simple rules: slowdowns (1 + a) (1 + b) are never less than
// 1 + a + b, which taking turns would give.
import type { Truth } from "./truth.ts";
import { aloneAt, smNeed, type Workload } from "./workload.ts";

/** How a GPU is shared: side by side with a share of the SMs, or in turns. */
export type Mechanism = "space" | "time" | "priority-time";

/**
 * A switch between processes takes 140 us, a slice is about 2 ms (docs/results/hardware.md): of the time that both
 * sides want the GPU, this part is lost.
 */
const SWITCH_LOSS = 0.07;
/** With priority a request still waits for the slice that is running: this part of what equal turns cost it. */
const PRIORITY_LEAK = 0.25;

export interface Tenant {
  readonly workload: Workload;
  /** Of the SMs; counts in space only. */
  readonly share: number;
  /** Not while it restarts. */
  readonly working: boolean;
  /** How this very start differs from others of its pair; about 1. */
  readonly luck: number;
}

export interface Sharing {
  /** Service time of a request / alone, at least 1. */
  readonly slowdown: number;
  /** Of each tenant, 0 to 1; 0 while it restarts. */
  readonly retained: readonly number[];
  /** Part of the time that a kernel runs. */
  readonly busy: number;
  /** Part of the SMs in use over time: of the online side, and of both. */
  readonly onlineActivity: number;
  readonly activity: number;
}

/** `load`: of the online side as if alone; its requests take longer co-located, so it is at work longer. */
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
  // Equal turns: while the request keeps the GPU busy, the other side gets it as long as the request does.
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
    // Turns give away the GPU time that requests need and lose the switches; priority, all the time they are there.
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
