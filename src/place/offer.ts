// Chooses how many SMs a job gets beside a service, and rates the result. A job with work w runs for w / speed, and the
// requests of the service pay for as long. So the work costs w (1 + REQUEST_WEIGHT x load x slowdown) / speed, and the
// worth of a share is the inverse of that for w = 1.
import { SHARE_STEP } from "./share.ts";

/** Predictions for one service and one job on a GPU, where `share` (0 to 1) is the part of the SMs that the job may use. */
export interface PairForecast {
  /** Speed that a request retains while the job works, 0 to 1. */
  served(share: number): number;
  /** Throughput that the job retains while a request is served, relative to that alone on all SMs. */
  beside(share: number): number;
  /** The same while no request is served. */
  alone(share: number): number;
}

export interface Offer {
  readonly share: number;
  /** Throughput that the job retains over time, 0 to 1. */
  readonly retained: number;
  /** Addends of `retained`: while requests are served, and while there are none. */
  readonly parts: { readonly beside: number; readonly alone: number };
  /** Mean response time of requests, queueing included, divided by that without the job; 1 is none. */
  readonly slowdown: number;
  /** Weight of the pair in a matching. */
  readonly worth: number;
}

/**
 * Requests of a fully loaded GPU that take twice as long for an hour count as much as this many jobs that end an hour
 * later. Chosen on seed 1 of muxflow-a (docs/results/cluster.md): at 3 requests are slower, and at 10 jobs.
 */
const REQUEST_WEIGHT = 6;

/**
 * The best share of a pair among those at which requests slow down by at most `mostSlowdown`. If there is none, the offer
 * is for the smallest share, and its slowdown exceeds the limit.
 *
 * `load`: the part of the time in which requests are served without the job, 0 to 1. `ratio`: measured divided by predicted
 * `beside`.
 */
export function bestOffer(
  pair: PairForecast,
  load: number,
  mostSlowdown: number,
  ratio = 1,
): Offer {
  let best: Offer | undefined;
  for (let step = 1; step <= Math.round(1 / SHARE_STEP); step++) {
    const offer = offerAt(pair, load, step * SHARE_STEP, ratio);
    if (best && offer.slowdown > mostSlowdown) continue;
    if (!best || best.slowdown > mostSlowdown || offer.worth >= best.worth) best = offer;
  }
  return best ?? offerAt(pair, load, SHARE_STEP, ratio);
}

function offerAt(pair: PairForecast, load: number, share: number, ratio: number): Offer {
  const served = Math.min(1, Math.max(MIN_SERVED, pair.served(share)));
  const active = Math.min(1, load / served);
  const parts = { beside: active * pair.beside(share), alone: (1 - active) * pair.alone(share) };
  const retained = Math.min(1, parts.beside * ratio + parts.alone);
  const slowdown = responseGrowth(load, served);
  return { share, retained, parts, slowdown, worth: worthOf(retained, load, slowdown) };
}

/** Retained throughput, less what requests pay for it. `slowdown` as `Offer` has it; `load`: 0 to 1. */
export const worthOf = (retained: number, load: number, slowdown: number): number =>
  retained / (1 + REQUEST_WEIGHT * load * (slowdown - 1));

/** A prediction below this is no better known than one of it. */
const MIN_SERVED = 0.01;

/**
 * Standard deviation of the time in which a request is served, divided by its mean: assumed, since no profile has it.
 */
const ASSUMED_CV = 0.5;

/** Factor by which the mean response time grows, queueing included, if requests retain `served` of their speed. */
export const responseGrowth = (load: number, served: number): number =>
  expectedResponse(load / served, ASSUMED_CV) / served / expectedResponse(load, ASSUMED_CV);

/** Above this load a queue counts as one of this load: the formula has a pole at 1. */
export const STABLE_LOAD = 0.96;

/**
 * The mean response time of an M/G/1 queue, in mean service times, by the formula of Pollaczek and Khinchine. `cv`:
 * standard deviation of a service time, divided by its mean. Loads above STABLE_LOAD count as that.
 */
export const expectedResponse = (load: number, cv: number): number => {
  const stable = Math.min(load, STABLE_LOAD);
  return 1 + (stable * (1 + cv * cv)) / (2 * (1 - stable));
};

/** Loads are stated in steps of this, so that few writes and few kinds of GPUs come of them. */
const LOAD_STEP = 0.05;

/** A load, or an active share, in whole steps, rounded up; 1 at most. */
export const statedLoad = (load: number): number =>
  Number((Math.ceil(Math.min(1, load) / LOAD_STEP - 1e-9) * LOAD_STEP).toFixed(2));
