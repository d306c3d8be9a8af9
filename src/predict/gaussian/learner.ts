// A Gaussian process (process.ts) learns the burden of each neighbour on each target, on the scale
// where burdens add (link.ts). Unlike a regression of the throughput sum (KACE), it need not learn
// that solo throughput is a factor and that a colocation informs about both sides. Parameters are
// chosen by predicting training rows without their own colocation. A row that fits no others gets
// less weight, because measured tables have faulty rows. Opening a model fits it again.

import type { Colocation } from "../data/colocations.ts";
import { badShare } from "../data/errors.ts";
import type { Features, MetricName } from "../data/metrics.ts";
import type { Prediction, Predictor } from "../data/predictor.ts";
import { alone, beside, compositionDoubt } from "../data/several.ts";
import { logMetrics, standardise } from "../data/standard.ts";
import { familiarity } from "../likeness/familiar.ts";
import type { Progress } from "../regress/regressor.ts";
import {
  BASIS,
  deviation,
  expectedOnScale,
  fitBurdens,
  type Observation,
  observationsOf,
  type Prepared,
  prepare,
  type Target,
  type Tuned,
} from "./burdens.ts";
import { surprises, type Widths, widthsOf } from "./calibrate.ts";
import { dot } from "./cholesky.ts";
import { fromScale } from "./link.ts";
import { closeness, covariance, gaps, isSame, ownVariance, quadratic, readout } from "./process.ts";
import { shareCosts } from "./shared-costs.ts";
import { tune } from "./tune.ts";

export interface GaussianState {
  readonly tuned: Tuned;
  readonly widths: Widths;
  readonly workloads: readonly (readonly number[])[];
  readonly observations: readonly Observation[];
  readonly largest: number;
}

/** Parameters of `like` are taken over instead of searched. */
export function trainGaussian(
  rows: readonly Colocation[],
  metrics: readonly MetricName[],
  { told, like }: { readonly told?: Progress | undefined; readonly like?: GaussianState } = {},
): GaussianState {
  const learned = observationsOf(rows, metrics);
  const unshared = prepare(learned, metrics);
  const { prepared, tuned } = like ? shareCosts(unshared, like.tuned) : tune(unshared, told);
  const doubts = doubtsOf(prepared, tuned);
  const observations = learned.observations.map(
    ([target, neighbour, targetShare, neighbourShare], i): Observation => [
      target,
      neighbour,
      targetShare,
      neighbourShare,
      prepared.retained[i] as number,
      doubts[i] as number,
    ],
  );
  return {
    tuned,
    widths: like ? like.widths : widthsOf({ ...prepared, doubt: doubts }, tuned),
    workloads: learned.workloads,
    observations,
    largest: Math.max(...learned.targets.map(({ count }) => count)),
  };
}

/** A row with an error of more standard deviations gets more noise, the more the larger it is. */
const SURPRISING = 2.5;

function doubtsOf(prepared: Prepared, tuned: Tuned): Float64Array {
  const doubts = prepared.doubt.slice();
  surprises(prepared, tuned).forEach((one, t) => {
    const { from, count } = prepared.targets[t] as Target;
    for (let i = from; i < from + count; i++)
      doubts[i] = (doubts[i] as number) * Math.max(1, one / SURPRISING) ** 2;
  });
  return doubts;
}

interface Sample {
  readonly near: Float64Array;
  readonly known: boolean;
}

const NORMAL_WIDTH = 1.645;

export function openGaussian(state: GaussianState, metrics: readonly MetricName[]): Predictor {
  const { tuned, widths, workloads, observations, largest } = state;
  const prepared = prepare(
    { workloads, observations, targets: [], groups: Int32Array.from(observations.keys()) },
    metrics,
  );
  const { standard, places, points } = prepared;
  const { mean, ...fit } = fitBurdens(prepared, tuned, BASIS);
  const { pivots } = fit;
  const read = readout(fit);
  const m = pivots.length;
  const isFamiliar = familiarity(prepared.known, metrics);
  // Even a pair that was measured would not give the same value again.
  const repeats = NORMAL_WIDTH * tuned.noise;
  // No neighbour makes a target faster: only measurements bring the upper bound above 1.
  const most = Math.max(1, ...prepared.retained) + repeats;
  const pick = (column: Int32Array | Float64Array) =>
    Float64Array.from(pivots, (p) => column[p] as number);
  const pivotTarget = pick(points.target);
  const pivotNeighbour = pick(points.neighbour);
  const pivotTargetShare = pick(points.targetShare);
  const pivotNeighbourShare = pick(points.neighbourShare);
  const seen = new WeakMap<Features, Sample>();
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
  const predictionOf = (retained: number, halfWidth: number, familiar: boolean): Prediction => {
    const half = Math.max(halfWidth, repeats);
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
      const { retained, sd } = pairs.length === 1 ? only : beside(pairs, tuned);
      const known = isKnown(target) && others.every(isKnown);
      const doubt = pairs.length > largest ? compositionDoubt(pairs.map((one) => one.retained)) : 0;
      return predictionOf(
        retained,
        sd * (known ? widths.known : widths.unmeasured) + doubt,
        familiar,
      );
    },
  };
}

function logOf(share: number): number {
  if (!(share > 0 && share <= 1)) throw badShare(share);
  return Math.log(share);
}
