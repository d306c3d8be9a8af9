// Our own predictor: a Gaussian process (process.ts) for the burden of each neighbour on each target, on the scale
// where burdens add (link.ts). Compared with a regression of the throughput sum (KACE), it uses two facts that need no
// learning: solo throughput is a factor, and each colocation has information about both of its sides.
//
// The reach of metrics, the noise of measurements and the scale are chosen by how well training rows are predicted with
// their own colocation left out. A row that fits no others gets less weight, because measured tables have faulty rows.
// The model stores what it learned from, so its file reads as a table. Opening it fits it again.
// faulty rows). The model keeps what it learned from, so its file reads as a table, and opening it fits it again.

import type { Colocation } from "../colocations.ts";
import { badShare, nothingToLearn } from "../errors.ts";
import { familiarity } from "../familiar.ts";
import type { Features, MetricName } from "../metrics.ts";
import type { Prediction, Predictor } from "../predictor.ts";
import type { Told } from "../regress/regressor.ts";
import { alone, beside } from "../several.ts";
import { logMetrics, standardise } from "../standard.ts";
import {
  BASIS,
  deviation,
  expectedOnScale,
  fitBurdens,
  leftOutError,
  type Observation,
  observationsOf,
  type Prepared,
  prepare,
  type Tuned,
} from "./burdens.ts";
import { surprises, type Widths, widthsOf } from "./calibrate.ts";
import { dot } from "./cholesky.ts";
import { ceiling, fromScale } from "./link.ts";
import { closeness, covariance, gaps, isSame, ownVariance, quadratic, readout } from "./process.ts";

export interface GaussianState {
  readonly tuned: Tuned;
  readonly widths: Widths;
  /** Values of the model's metrics. */
  readonly workloads: readonly (readonly number[])[];
  readonly observations: readonly Observation[];
}

/** The values tried, one parameter after the other. The search begins with the first value of each. */
const choices = {
  wait: [0.5, 0.25, 1],
  amplitude: [0.1, 1],
  softness: [0.3, 0.1, 0.65, 1],
  reach: [1.4, 0.7, 1, 2],
  noise: [0.03, 0.08],
  own: [0.3, 0, 1],
  interplay: [0.3, 1],
  shareReach: [0.5, 1],
} as const satisfies Readonly<Record<keyof Tuned, readonly number[]>>;
const names = Object.keys(choices) as readonly (keyof Tuned)[];
const SWEEPS = 2;
/** With the first. */
const MOST_TRIED = 1 + SWEEPS * names.reduce((sum, name) => sum + choices[name].length, 0);

export function trainGaussian(
  rows: readonly Colocation[],
  metrics: readonly MetricName[],
  { told }: { readonly told?: Told | undefined } = {},
): GaussianState {
  const learned = observationsOf(rows, metrics);
  if (learned.observations.length === 0)
    throw nothingToLearn("no colocation has two clients, from which burdens are learned");
  const prepared = prepare(learned.workloads, learned.observations, metrics);
  const most = Math.max(...learned.observations.map(([, , , , retained]) => retained));
  const possible = choices.softness.filter((one) => BELOW * ceiling(one) >= most || one === 1);
  let tuned: Tuned = {
    softness: possible[0] ?? 1,
    reach: choices.reach[0],
    noise: choices.noise[0],
    // The account leaves little to learn, and a few pairs must not outweigh it.
    amplitude: prepared.accountable ? choices.amplitude[0] : 1,
    own: choices.own[0],
    interplay: choices.interplay[0],
    shareReach: choices.shareReach[0],
    wait: prepared.accountable ? choices.wait[0] : 0,
  };
  const wereTried = new Set([JSON.stringify(tuned)]);
  let least = leftOutError(prepared, tuned);
  for (let sweep = 0; sweep < SWEEPS; sweep++)
    for (const name of names) {
      if (name === "shareReach" && !prepared.sharesDiffer) continue;
      if ((name === "wait" || name === "amplitude") && !prepared.accountable) continue;
      for (const value of name === "softness" ? possible : choices[name]) {
        const tried = { ...tuned, [name]: value };
        if (wereTried.has(JSON.stringify(tried))) continue;
        wereTried.add(JSON.stringify(tried));
        const error = leftOutError(prepared, tried);
        told?.(wereTried.size / MOST_TRIED);
        if (error < least) {
          least = error;
          tuned = tried;
        }
      }
    }
  const doubts = doubtsOf(prepared, tuned);
  const observations = learned.observations.map(
    ([target, neighbour, targetShare, neighbourShare, retained], i): Observation => [
      target,
      neighbour,
      targetShare,
      neighbourShare,
      retained,
      doubts[i] as number,
    ],
  );
  const final = prepare(learned.workloads, observations, metrics);
  return { tuned, widths: widthsOf(final, tuned), workloads: learned.workloads, observations };
}

/** A value this close to a ceiling can be noise. */
const BELOW = 1.02;

/** A row whose error is more than this many standard deviations gets more noise, the more the larger the error is. */
const SURPRISING = 2.5;

const doubtsOf = (prepared: Prepared, tuned: Tuned): Float64Array =>
  surprises(prepared, tuned).map((one) => Math.max(1, one / SURPRISING) ** 2);

/** How near a workload is to each of those learned from, and whether it is one of them. */
interface Seen {
  readonly near: Float64Array;
  readonly known: boolean;
}

/** So many standard deviations to each side of a normal distribution's mean contain INTERVAL of it. */
const NORMAL_WIDTH = 1.645;

export function openGaussian(state: GaussianState, metrics: readonly MetricName[]): Predictor {
  const { tuned, widths, workloads, observations } = state;
  const prepared = prepare(workloads, observations, metrics);
  const { standard, places, points } = prepared;
  const { mean, ...fit } = fitBurdens(prepared, tuned, BASIS);
  const { pivots } = fit;
  const read = readout(fit);
  const m = pivots.length;
  const isFamiliar = familiarity(prepared.known, metrics);
  // Even a pair that was measured would not give the same value again.
  const repeats = NORMAL_WIDTH * tuned.noise;
  // No neighbour makes a target faster, so the upper bound exceeds 1 only by as much as measurements do.
  const most = Math.max(1, ...prepared.retained) + repeats;
  const pick = (column: Int32Array | Float64Array) =>
    Float64Array.from(pivots, (p) => column[p] as number);
  const pivotTarget = pick(points.target);
  const pivotNeighbour = pick(points.neighbour);
  const pivotTargetShare = pick(points.targetShare);
  const pivotNeighbourShare = pick(points.neighbourShare);
  const seen = new WeakMap<Features, Seen>();
  const seeing = (features: Features) => {
    const before = seen.get(features);
    if (before) return before;
    const place = standardise(standard, logMetrics(features, metrics));
    const between = gaps(place, places, metrics.length);
    const one = { near: closeness(between, tuned), known: between.some(isSame) };
    seen.set(features, one);
    return one;
  };
  const kernel = new Float64Array(m);

  const pair = (target: Features, neighbour: Features, share: number, neighbourShare: number) => {
    const nearTarget = seeing(target).near;
    const nearNeighbour = seeing(neighbour).near;
    const logShare = logOf(share);
    const logNeighbourShare = logOf(neighbourShare);
    for (let i = 0; i < m; i++) {
      const gap = logShare - (pivotTargetShare[i] as number);
      const neighbourGap = logNeighbourShare - (pivotNeighbourShare[i] as number);
      kernel[i] = covariance(
        tuned,
        nearTarget[pivotTarget[i] as number] as number,
        nearNeighbour[pivotNeighbour[i] as number] as number,
        gap * gap + neighbourGap * neighbourGap,
      );
    }
    const z = mean + expectedOnScale(target, neighbour, tuned) + dot(kernel, 0, read.alpha, 0, m);
    const sd = deviation(z, Math.max(0, ownVariance(tuned) + quadratic(read, kernel)), tuned);
    return { retained: fromScale(z, tuned.softness), sd };
  };

  const isKnown = (features: Features) => seeing(features).known;
  const predictionOf = (
    retained: number,
    sd: number,
    familiar: boolean,
    width: number,
  ): Prediction => {
    const half = Math.max(sd * width, repeats);
    return {
      retained,
      uncertainty: half / NORMAL_WIDTH,
      low: Math.max(0, retained - half),
      high: Math.max(retained, Math.min(most, retained + half)),
      familiar,
    };
  };

  return {
    predict(target, others, shares) {
      const shared = shares && [shares.target, ...shares.others].some((share) => share !== 1);
      const familiar =
        isFamiliar(target) && others.every(isFamiliar) && (prepared.sharesDiffer || !shared);
      const pairs = others.map((other, i) =>
        pair(target, other, shares?.target ?? 1, shares?.others[i] ?? 1),
      );
      const [only] = pairs;
      if (!only) return alone(familiar);
      const { retained, sd } = pairs.length === 1 ? only : beside(pairs);
      const known = isKnown(target) && others.every(isKnown);
      return predictionOf(retained, sd, familiar, known ? widths.known : widths.stranger);
    },
  };
}

function logOf(share: number): number {
  if (!(share > 0 && share <= 1)) throw badShare(share);
  return Math.log(share);
}
