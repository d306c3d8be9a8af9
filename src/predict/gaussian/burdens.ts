// If metrics allow the account of blocks (account.ts), the process learns the difference from it.

import { type Colocation, metricOf, type Side } from "../data/colocations.ts";
import type { Features, MetricName } from "../data/metrics.ts";
import { type Composition, costOf, MULTIPLYING, retainedOf, together } from "../data/several.ts";
import { logMetrics, standardise, standardOf } from "../data/standard.ts";
import { accounted, isAccountable } from "./account.ts";
import { fromScale, steepness, toScale } from "./link.ts";
import { closeness, type Fitted, fitPoints, gaps, type Kernel, type Points } from "./process.ts";

export interface Tuned extends Kernel, Composition {
  readonly softness: number;
  readonly noise: number;
  /** It is the account's `wait`, or 0 without an account. */
  readonly wait: number;
}

/** Indices are into `workloads`; `doubt` is how many times noisier than usual the row is. */
export type Observation = readonly [
  target: number,
  neighbour: number,
  targetShare: number,
  neighbourShare: number,
  retained: number,
  doubt: number,
];

/** A prediction costs its square, and a fit its square times the observations. */
export const BASIS = 96;
const TUNING_BASIS = 48;

const FLOOR = 1e-3;

/** Its part of the observations starts at `from`. */
export interface Target {
  readonly from: number;
  readonly count: number;
  readonly retained: number;
}

export interface Observed {
  readonly workloads: readonly (readonly number[])[];
  /** Nobody knows which of several neighbours cost how much: `shareCosts` estimates it. */
  readonly observations: readonly Observation[];
  readonly targets: readonly Target[];
  /** Observations of one colocation, also if it is measured again next, are left out together. */
  readonly groups: Int32Array;
}

export function observationsOf(
  rows: readonly Colocation[],
  metrics: readonly MetricName[],
): Observed {
  const seen = new Map<string, number>();
  const workloads: (readonly number[])[] = [];
  const indexOf = (features: Features): number => {
    const values = metrics.map((name) => metricOf(features, name));
    const key = values.join();
    const known = seen.get(key);
    if (known !== undefined) return known;
    seen.set(key, workloads.length);
    return workloads.push(values) - 1;
  };
  const observations: Observation[] = [];
  const targets: Target[] = [];
  const groups: number[] = [];
  let before = "";
  let group = -1;
  for (const { sides } of rows) {
    const indices = sides.map(({ features }) => indexOf(features));
    const key = indices.toSorted((a, b) => a - b).join();
    if (key !== before) group++;
    before = key;
    sides.forEach((side, i) => {
      const others = sides.flatMap((other, k) => (k === i ? [] : [[other, indices[k] as number]]));
      if (others.length === 0) return;
      targets.push({ from: observations.length, count: others.length, retained: side.retained });
      const each = retainedOf(costOf(side.retained, MULTIPLYING) / others.length, MULTIPLYING);
      for (const [other, index] of others as [Side, number][]) {
        observations.push([
          indices[i] as number,
          index,
          side.smShare,
          other.smShare,
          others.length === 1 ? side.retained : each,
          others.length,
        ]);
        groups.push(group);
      }
    });
  }
  return { workloads, observations, targets, groups: Int32Array.from(groups) };
}

export interface Prepared {
  readonly standard: ReturnType<typeof standardOf>;
  readonly places: Float64Array;
  readonly between: Float64Array;
  readonly points: Points;
  readonly retained: Float64Array;
  readonly doubt: Float64Array;
  readonly groups: Int32Array;
  readonly targets: readonly Target[];
  readonly sharesDiffer: boolean;
  readonly accountable: boolean;
  readonly known: readonly Features[];
}

export function prepare(
  { workloads, observations, targets, groups }: Observed,
  metrics: readonly MetricName[],
): Prepared {
  const known = workloads.map((values) => featuresOf(values, metrics));
  const logs = known.map((features) => logMetrics(features, metrics));
  const standard = standardOf(logs);
  const places = Float64Array.from(logs.flatMap((row) => [...standardise(standard, row)]));
  const column = (k: number) => Float64Array.from(observations, (row) => row[k] as number);
  const points = {
    target: Int32Array.from(column(0)),
    neighbour: Int32Array.from(column(1)),
    targetShare: column(2).map(Math.log),
    neighbourShare: column(3).map(Math.log),
  };
  const sharesDiffer = new Set([...points.targetShare, ...points.neighbourShare]).size > 1;
  return {
    standard,
    places,
    between: gaps(places, places, metrics.length),
    points,
    retained: column(4),
    doubt: column(5),
    groups,
    targets,
    sharesDiffer,
    // The account does not model confined neighbours, beside which SMs stay free.
    accountable: isAccountable(metrics) && !sharesDiffer,
    known,
  };
}

const featuresOf = (values: readonly number[], metrics: readonly MetricName[]): Features =>
  Object.fromEntries(metrics.map((name, k) => [name, values[k]]));

export const expectedOnScale = (
  target: Features,
  neighbour: Features,
  { wait, softness }: Tuned,
): number => (wait === 0 ? 0 : toScale(accounted(target, neighbour, wait), softness));

/** `about` has each observation's expected value plus `mean`, the mean difference from these. */
export function fitBurdens(
  prepared: Prepared,
  tuned: Tuned,
  basis: number,
): Fitted & { readonly mean: number; readonly about: Float64Array } {
  const { points, between, retained, doubt, groups, known } = prepared;
  const z = retained.map((value) => toScale(value, tuned.softness));
  const before = z.map((_, i) =>
    expectedOnScale(
      known[points.target[i] as number] ?? {},
      known[points.neighbour[i] as number] ?? {},
      tuned,
    ),
  );
  const mean = z.reduce((sum, value, i) => sum + value - (before[i] as number), 0) / z.length;
  // Equal noise of retained throughput is larger on the additive scale where that changes little.
  const noise = z.map(
    (value, i) =>
      FLOOR + (doubt[i] as number) * (tuned.noise / steepness(value, tuned.softness)) ** 2,
  );
  const near = closeness(between, tuned);
  const about = before.map((value) => value + mean);
  const centred = z.map((value, i) => value - (about[i] as number));
  return { ...fitPoints(points, near, tuned, centred, noise, groups, basis), mean, about };
}

function expectedOf(
  { targets }: Prepared,
  tuned: Tuned,
  values: ArrayLike<number>,
): readonly number[] {
  return targets.map(({ from, count }) =>
    together(
      Array.from({ length: count }, (_, k) =>
        fromScale(values[from + k] as number, tuned.softness),
      ),
      tuned,
    ),
  );
}

export function leftOutValues(prepared: Prepared, tuned: Tuned, basis: number): Float64Array {
  const { leftOut, about } = fitBurdens(prepared, tuned, basis);
  return leftOut.mean.map((value, i) => value + (about[i] as number));
}

export function leftOutError(prepared: Prepared, tuned: Tuned): number {
  const expected = expectedOf(prepared, tuned, leftOutValues(prepared, tuned, TUNING_BASIS));
  const { targets } = prepared;
  return (
    targets.reduce(
      (sum, { retained }, i) => sum + Math.abs((expected[i] as number) - retained),
      0,
    ) / targets.length
  );
}

export const deviation = (z: number, variance: number, { softness, noise }: Tuned): number =>
  Math.sqrt(variance * steepness(z, softness) ** 2 + noise ** 2);
