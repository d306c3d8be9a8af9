// Measured pairs as our own predictor sees them, and the process that is fitted to them. If the metrics allow the
// account of blocks (account.ts), the process learns the difference from it, else the burdens themselves.

import { type Colocation, metricOf } from "../colocations.ts";
import type { Features, MetricName } from "../metrics.ts";
import { logMetrics, standardise, standardOf } from "../standard.ts";
import { accounted, isAccountable } from "./account.ts";
import { fromScale, steepness, toScale } from "./link.ts";
import { closeness, type Fitted, fitPoints, gaps, type Kernel, type Points } from "./process.ts";

export interface Tuned extends Kernel {
  readonly softness: number;
  /** Standard deviation of a measured retained throughput. */
  readonly noise: number;
  /** The account's `wait`; 0 without an account. */
  readonly wait: number;
}

/**
 * A row: target and neighbour (indices into `workloads`), their SM shares, what was retained, and how many times
 * noisier than usual it is.
 */
export type Observation = readonly [
  target: number,
  neighbour: number,
  targetShare: number,
  neighbourShare: number,
  retained: number,
  doubt: number,
];

/** The number of basis points. A prediction costs its square, and a fit its square times the observations. */
export const BASIS = 96;
/** A smaller number while choices are compared. */
const TUNING_BASIS = 48;

/** Variance on the additive scale that no measurement explains. */
const FLOOR = 1e-3;

/** Both directions of each pair, and each workload once. Larger groups are left out. */
export function observationsOf(rows: readonly Colocation[], metrics: readonly MetricName[]) {
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
  const observations = rows.flatMap(({ sides }): Observation[] => {
    const [a, b, more] = sides;
    if (!a || !b || more) return [];
    const [first, second] = [indexOf(a.features), indexOf(b.features)];
    return [
      [first, second, a.smShare, b.smShare, a.retained, 1],
      [second, first, b.smShare, a.smShare, b.retained, 1],
    ];
  });
  return { workloads, observations };
}

export interface Prepared {
  readonly standard: ReturnType<typeof standardOf>;
  /** Standardised workloads, row by row. */
  readonly places: Float64Array;
  /** Distances between every two workloads. */
  readonly between: Float64Array;
  readonly points: Points;
  readonly retained: Float64Array;
  readonly doubt: Float64Array;
  readonly groups: Int32Array;
  readonly sharesDiffer: boolean;
  readonly accountable: boolean;
  readonly known: readonly Features[];
}

export function prepare(
  workloads: readonly (readonly number[])[],
  observations: readonly Observation[],
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
    groups: groupsOf(points),
    sharesDiffer,
    // The account does not model confined neighbours, beside which SMs stay free.
    accountable: isAccountable(metrics) && !sharesDiffer,
    known,
  };
}

const featuresOf = (values: readonly number[], metrics: readonly MetricName[]): Features =>
  Object.fromEntries(metrics.map((name, k) => [name, values[k]]));

/** Consecutive observations of the same two workloads, at any shares, form one group, which is left out as a whole. */
function groupsOf({ target, neighbour }: Points): Int32Array {
  const groups = new Int32Array(target.length);
  const pair = (i: number) => {
    const [a, b] = [target[i] as number, neighbour[i] as number];
    return a < b ? `${a} ${b}` : `${b} ${a}`;
  };
  for (let i = 1; i < groups.length; i++)
    groups[i] = (groups[i - 1] as number) + (pair(i) === pair(i - 1) ? 0 : 1);
  return groups;
}

/** The value on the additive scale that is expected before anything was learned. */
export const expectedOnScale = (
  target: Features,
  neighbour: Features,
  { wait, softness }: Tuned,
): number => (wait === 0 ? 0 : toScale(accounted(target, neighbour, wait), softness));

/**
 * Fits the process. `mean`: mean difference between observations and expected values. `about`: for each observation,
 * the expected value plus that mean.
 */
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
  // A measurement's noise is the same for all retained throughputs. On the additive scale it is larger where retained
  // throughput changes little.
  const noise = z.map(
    (value, i) =>
      FLOOR + (doubt[i] as number) * (tuned.noise / steepness(value, tuned.softness)) ** 2,
  );
  const near = closeness(between, tuned);
  const about = before.map((value) => value + mean);
  const centred = z.map((value, i) => value - (about[i] as number));
  return { ...fitPoints(points, near, tuned, centred, noise, groups, basis), mean, about };
}

/** Mean absolute error of retained throughput over the training rows, each predicted without its own colocation. */
export function leftOutError(prepared: Prepared, tuned: Tuned): number {
  const { leftOut, about } = fitBurdens(prepared, tuned, TUNING_BASIS);
  const { retained } = prepared;
  return (
    retained.reduce(
      (sum, value, i) =>
        sum +
        Math.abs(
          fromScale((leftOut.mean[i] as number) + (about[i] as number), tuned.softness) - value,
        ),
      0,
    ) / retained.length
  );
}

/** Standard deviation of retained throughput, from the process's variance and a measurement's noise. */
export const deviation = (z: number, variance: number, { softness, noise }: Tuned): number =>
  Math.sqrt(variance * steepness(z, softness) ** 2 + noise ** 2);
