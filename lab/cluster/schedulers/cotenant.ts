// Cotenant's own scheduler. It differs from MuxFlow in four ways. A pair's share is the one with the best worth: the
// job's speed, divided by what its time and the time of requests cost. The share follows the load between rounds.
// Forecasts are corrected by what was observed of each pair. A free seat is filled at the next step and not at the next
// round. Moving a job must pay for its restart.
//
// `youngFirst` is for jobs whose lengths differ widely: then those that ran least are the most likely to end soon. With
// jobs of similar length it makes all end late.
import { SHARE_STEP } from "#place";
import type { Predictions } from "../model/predictions.ts";
import type { Workload } from "../model/workload.ts";
import { type Corrections, corrections } from "./corrections.ts";
import {
  LOAD_STEP,
  matchJobs,
  type Offer,
  predictedRetained,
  responseGrowth,
  roundLoad,
  strandedJobs,
} from "./pairing.ts";
import type {
  JobView,
  Moment,
  Order,
  Placed,
  Scheduler,
  SchedulerKind,
  SeatView,
  View,
} from "./scheduler.ts";

/** How many times longer the requests of a service may take on average over the day, queueing included. */
export const ACCEPTABLE = 1.15;
/** The same of one GPU at the highest load forecast until the next round. Loads are mostly lower. */
const LIMIT = 1.3;
/** Jobs are grouped by how long they ran: in powers of two of this many seconds. */
const YOUNG = 600;
const AGES = 8;

/**
 * The price of requests' time, in jobs that wait as long: slowing the requests of a fully loaded GPU by 100 % for an hour
 * counts as much as this many jobs that end an hour later. It was chosen on seed 1: at 2 hardly any job ends later than
 * at 0, and above 5 hardly any request gets faster (docs/results/cluster.md).
 */
const PRICE = 3;
/** Where no share keeps the limit, a seat is worth this part of its worth: it is taken if no other is free. */
const BEYOND_LIMIT = 0.01;

interface Parts {
  /** Whether the youngest jobs go first if seats are short. */
  readonly youngFirst: boolean;
  /** Whether forecasts are corrected by observations. */
  readonly learns: boolean;
}

/** `price`: see PRICE. */
export function oursWith(
  parts: Parts,
  price: number = PRICE,
  learned: Corrections = corrections(),
): Scheduler {
  const offers = bestOffers(learned, price);
  const place = (view: View, seats: readonly SeatView[], jobs: readonly JobView[]): Order[] => {
    const scarce = jobs.length > seats.length;
    const moveLoss = view.restart / view.interval;
    return matchJobs(seats, jobs, {
      load: (seat) => roundLoad(Math.max(seat.load, seat.peakLoad(view.now + view.interval))),
      offer(seat, job, load) {
        const { share, weight } = offers(view, seat.online, job.workload, load);
        return {
          share,
          weight: weight * (scarce && parts.youngFirst ? 2 ** -ageOf(job) : 1),
        };
      },
      kind: (job) => (scarce && parts.youngFirst ? String(ageOf(job)) : ""),
      keepBonus: moveLoss,
    });
  };
  return {
    mechanism: "space",
    protects: true,
    inOrder: !parts.youngFirst,
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
    fill: (view) =>
      place(
        view,
        view.seats.filter(({ jobs, healthy }) => jobs.length === 0 && healthy),
        view.jobs,
      ),
    adjust: (seat, job, moment) =>
      offers(moment, seat.online, job.workload, roundLoad(seat.load)).share,
  };
}

type Offers = (
  moment: Moment,
  online: Workload | undefined,
  offline: Workload,
  load: number,
) => Offer;

/**
 * The best share of a pair at a load, within the limit. A job with work w runs for w / speed, and requests pay for so
 * long. So what the work costs is w (1 + price x load x slowdown) / speed, and the worth of a share is the inverse of
 * that for w = 1. `load` is rounded. Answers are cached until the corrections change.
 */
function bestOffers(learned: Corrections, price: number): Offers {
  const alone: Offer = { share: 1, weight: 1 };
  let version = -1;
  // By the number of steps in the rounded load.
  let known = new Map<Workload, Map<Workload, Offer[]>>();
  return ({ predictions }, online, offline, load) => {
    if (!online) return alone;
    if (learned.version !== version) {
      version = learned.version;
      known = new Map();
    }
    const step = Math.round(load / LOAD_STEP);
    const before = known.get(online)?.get(offline)?.[step];
    if (before) return before;
    const beside = known.get(online) ?? new Map<Workload, Offer[]>();
    const byLoad = beside.get(offline) ?? [];
    const offer = bestOffer(learned.applied(predictions), online, offline, load, price);
    byLoad[step] = offer;
    known.set(online, beside.set(offline, byLoad));
    return offer;
  };
}

function bestOffer(
  predictions: Predictions,
  online: Workload,
  offline: Workload,
  load: number,
  price: number,
): Offer {
  let best: Offer | undefined;
  for (let step = 1; step <= Math.round(1 / SHARE_STEP); step++) {
    const share = step * SHARE_STEP;
    const growth = responseGrowth(load, predictions.online(online, offline, share));
    if (growth > LIMIT) continue;
    const speed = predictedRetained(predictions, online, offline, share, load);
    const weight = speed / (1 + price * load * (growth - 1));
    if (!best || weight >= best.weight) best = { share, weight };
  }
  if (best) return best;
  const speed = predictedRetained(predictions, online, offline, SHARE_STEP, load);
  return { share: SHARE_STEP, weight: BEYOND_LIMIT * speed };
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
  trigger: "once",
  knob: {
    about:
      "the price of requests' time: jobs an hour later for a loaded GPU's requests 100 % slower",
    least: 0,
    most: 1000,
    usual: PRICE,
  },
  make: (price) => oursWith(parts, price),
});

export const ours = kind(
  "cotenant",
  "shares from forecasts, matching with the cost of moves, seats filled at once",
  { youngFirst: false, learns: true },
);
export const oursYoung = kind(
  "cotenant-young",
  "Cotenant; when seats are short, jobs that ran least go first",
  { youngFirst: true, learns: true },
);
export const oursUnlearning = kind(
  "cotenant-fixed",
  "Cotenant without learning from what it observes",
  { youngFirst: false, learns: false },
);
