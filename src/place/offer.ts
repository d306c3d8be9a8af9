// A job with work w runs for w
//
// speed, and the requests of the service pay for as long. So the work costs w (1 + REQUEST_WEIGHT x
// load x slowdown)
//
// speed; a share's worth is the inverse for w = 1.
import { SHARE_STEP } from "./share.ts";

export interface PairForecast {
  served(share: number): number;
  /** It is the throughput while a request is served, relative to that alone. */
  beside(share: number): number;
  alone(share: number): number;
}

export interface Offer {
  readonly share: number;
  readonly retained: number;
  /** They are addends of `retained`: while requests are served, and while there are none. */
  readonly parts: { readonly beside: number; readonly alone: number };
  /** Growth of the requests' mean response time, queueing included; 1 is none. */
  readonly slowdown: number;
  readonly worth: number;
}

/** In muxflow-a, seed 1 (docs/results/cluster.md), requests are slower at 3, jobs at 10. */
const REQUEST_WEIGHT = 6;

/**
 * If no share keeps `mostSlowdown`, the offer is for the smallest and exceeds it. `load`: 0 to 1,
 * without the job. `ratio`: measured divided by predicted `beside`.
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

export const worthOf = (retained: number, load: number, slowdown: number): number =>
  retained / (1 + REQUEST_WEIGHT * load * (slowdown - 1));

const MIN_SERVED = 0.01;

/** Standard deviation of a service time, divided by its mean: assumed, since no profile has it. */
const ASSUMED_CV = 0.5;

export const responseGrowth = (load: number, served: number): number =>
  expectedResponse(load / served, ASSUMED_CV) / served / expectedResponse(load, ASSUMED_CV);

/** Above this load a queue counts as one of this load: the formula has a pole at 1. */
export const STABLE_LOAD = 0.96;

/** Pollaczek and Khinchine: M/G/1, in mean service times. `cv`: deviation over mean of these. */
export const expectedResponse = (load: number, cv: number): number => {
  const stable = Math.min(load, STABLE_LOAD);
  return 1 + (stable * (1 + cv * cv)) / (2 * (1 - stable));
};

const LOAD_STEP = 0.05;

export const statedLoad = (load: number): number =>
  Number((Math.ceil(Math.min(1, load) / LOAD_STEP - 1e-9) * LOAD_STEP).toFixed(2));
