// Cotenant's own scheduler. It differs from MuxFlow in four ways. The share is the largest at which the online side's
// predicted response time stays within the limit, at the load forecast for the interval; it follows the load between
// rounds. Forecasts are corrected by what was observed of each pair. A free seat is filled at the next step and not at
// the next round. Moving a job must pay for its restart.
//
// `youngFirst` is for jobs whose lengths differ widely: then those that ran least are the most likely to end soon. With
// jobs of similar length it makes all end late.
import { acceptableShare, SHARE_STEP } from "#place";
import type { Workload } from "../workload.ts";
import { type Corrections, corrections } from "./corrections.ts";
import {
  matchJobs,
  predictedRetained,
  responseGrowth,
  roundLoad,
  strandedJobs,
} from "./pairing.ts";
import type {
  JobView,
  Order,
  Placed,
  Scheduler,
  SchedulerKind,
  SeatView,
  View,
} from "./scheduler.ts";

/**
 * How many times longer requests may take on average, queueing included. MuxFlow allows 1.2. Of 1.10, 1.15 and 1.20
 * this was the largest at which requests were slowed no more than by MuxFlow, on seed 1 of two scenarios
 * (docs/results/cluster.md).
 */
export const ACCEPTABLE = 1.15;
/** Jobs are grouped by how long they ran: in powers of two of this many seconds. */
const YOUNG = 600;
const AGES = 8;

interface Parts {
  /** Whether free seats are filled and shares follow the load between rounds. */
  readonly continuous: boolean;
  /** Whether the youngest jobs go first if seats are short. */
  readonly youngFirst: boolean;
  /** Whether forecasts are corrected by observations. */
  readonly learns: boolean;
}

export function oursWith(parts: Parts, learned: Corrections = corrections()): Scheduler {
  const shares = new Map<string, number>();
  const shareFor = (
    view: View,
    online: Workload | undefined,
    offline: Workload,
    load: number,
  ): number => {
    if (!online) return 1;
    const key = `${online.name}\n${offline.name}\n${load.toFixed(2)}\n${learned.version}`;
    const known = shares.get(key);
    if (known !== undefined) return known;
    const predictions = learned.applied(view.predictions);
    const response = (share: number) =>
      responseGrowth(load, predictions.online(online, offline, share));
    const share = acceptableShare(response, ACCEPTABLE) ?? SHARE_STEP; // the smallest share
    shares.set(key, share);
    return share;
  };
  const place = (view: View, seats: readonly SeatView[], jobs: readonly JobView[]): Order[] => {
    const predictions = learned.applied(view.predictions);
    const scarce = jobs.length > seats.length;
    const moveLoss = view.restart / view.interval;
    return matchJobs(seats, jobs, {
      load: (seat) => roundLoad(Math.max(seat.load, seat.peakLoad(view.now + view.interval))),
      offer(seat, job, load) {
        const share = shareFor(view, seat.online, job.workload, load);
        const speed = predictedRetained(predictions, seat.online, job.workload, share, load);
        return { share, weight: speed * (scarce && parts.youngFirst ? 2 ** -ageOf(job) : 1) };
      },
      kind: (job) => (scarce && parts.youngFirst ? String(ageOf(job)) : ""),
      keepBonus: moveLoss,
    });
  };
  const scheduler: Scheduler = {
    mechanism: "space",
    protects: true,
    plan(view) {
      if (parts.learns) observe(learned, view);
      const kept = strandedJobs(view);
      const held = new Set(kept.map(({ job }) => job));
      return [
        ...kept,
        ...place(
          view,
          view.seats.filter(({ healthy }) => healthy),
          view.jobs.filter(({ index }) => !held.has(index)),
        ),
      ];
    },
  };
  if (!parts.continuous) return scheduler;
  return {
    ...scheduler,
    fill: (view) =>
      place(
        view,
        view.seats.filter(({ healthy, jobs }) => healthy && jobs.length === 0),
        view.jobs.filter(({ placed }) => !placed),
      ),
    adjust: (seat, job, view) => shareFor(view, seat.online, job.workload, roundLoad(seat.load)),
  };
}

/** How often the time that a job ran has doubled. */
const ageOf = ({ attained }: JobView): number =>
  Math.min(AGES, Math.max(0, Math.ceil(Math.log2((attained + 1) / YOUNG))));

function observe(learned: Corrections, view: View): void {
  for (const { workload, placed } of view.jobs) {
    const seat = view.seats[placed?.seats[0] ?? -1];
    if (placed && seat?.online) learn(learned, view, seat, seat.online, workload, placed);
  }
}

function learn(
  learned: Corrections,
  view: View,
  seat: SeatView,
  online: Workload,
  offline: Workload,
  { share, retained, slowdown }: Placed,
): void {
  if (retained === undefined || slowdown === undefined) return;
  learned.observe(online, offline, {
    offline: retained / predictedRetained(view.predictions, online, offline, share, seat.load),
    onlineLoss: [1 - view.predictions.online(online, offline, share), 1 - 1 / slowdown],
  });
}

const kind = (name: string, summary: string, parts: Parts): SchedulerKind => ({
  name,
  summary,
  gangs: false,
  make: () => oursWith(parts),
});

export const ours = kind(
  "cotenant",
  "shares from forecasts, matching with the cost of moves, seats filled at once",
  { continuous: true, youngFirst: false, learns: true },
);
export const oursInRounds = kind(
  "cotenant-rounds",
  "Cotenant, but decisions only every interval, as MuxFlow's",
  { continuous: false, youngFirst: false, learns: true },
);
export const oursYoung = kind(
  "cotenant-young",
  "Cotenant; when seats are short, jobs that ran least go first",
  { continuous: true, youngFirst: true, learns: true },
);
export const oursUnlearning = kind(
  "cotenant-fixed",
  "Cotenant without learning from what it observes",
  { continuous: true, youngFirst: false, learns: false },
);
