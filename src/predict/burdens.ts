// Measured pairs as our own predictor sees them, and the process fitted to them.
import { type Colocation, metricOf } from "./colocations.ts";
import { fromScale, steepness, toScale } from "./link.ts";
import type { Features, MetricName } from "./metrics.ts";
import { closeness, conditioned, type Fitted, type Kernel, type Points } from "./process.ts";
import { logMetrics, standardised, standardOf } from "./standard.ts";

export interface Tuned extends Kernel {
  readonly softness: number;
  /** Standard deviation of a measured retained throughput. */
  readonly noise: number;
}

/** A target and its company, by row of `workloads`, what was retained, and how many times noisier than usual it is. */
export type Observation = readonly [
  target: number,
  company: number,
  targetShare: number,
  companyShare: number,
  retained: number,
  doubt: number,
];

/** Of basis points. A prediction costs their square, a fit that times the observations. */
export const BASIS = 96;
/** While the choices are compared. */
const TUNING_BASIS = 48;

/** Variance on the additive scale that no measurement explains. */
const FLOOR = 1e-3;

/** Both directions of each pair, and each workload once. Larger companies are left to the sum of burdens. */
export function observed(rows: readonly Colocation[], metrics: readonly MetricName[]) {
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
  readonly metrics: number;
  readonly points: Points;
  readonly retained: Float64Array;
  readonly doubt: Float64Array;
  readonly groups: Int32Array;
  readonly sharesDiffer: boolean;
}

export function prepare(
  workloads: readonly (readonly number[])[],
  observations: readonly Observation[],
  metrics: readonly MetricName[],
): Prepared {
  const logs = workloads.map((values) => logMetrics(featuresOf(values, metrics), metrics));
  const standard = standardOf(logs);
  const column = (k: number) => Float64Array.from(observations, (row) => row[k] as number);
  const points = {
    target: Int32Array.from(column(0)),
    company: Int32Array.from(column(1)),
    targetShare: column(2).map(Math.log),
    companyShare: column(3).map(Math.log),
  };
  return {
    standard,
    places: Float64Array.from(logs.flatMap((row) => [...standardised(standard, row)])),
    metrics: metrics.length,
    points,
    retained: column(4),
    doubt: column(5),
    groups: groupsOf(points),
    sharesDiffer: new Set([...points.targetShare, ...points.companyShare]).size > 1,
  };
}

export const featuresOf = (values: readonly number[], metrics: readonly MetricName[]): Features =>
  Object.fromEntries(metrics.map((name, k) => [name, values[k]]));

/** Neighbouring observations of the same two workloads, at whatever shares, are left out together. */
function groupsOf({ target, company }: Points): Int32Array {
  const groups = new Int32Array(target.length);
  const pair = (i: number) => {
    const [a, b] = [target[i] as number, company[i] as number];
    return a < b ? `${a} ${b}` : `${b} ${a}`;
  };
  for (let i = 1; i < groups.length; i++)
    groups[i] = (groups[i - 1] as number) + (pair(i) === pair(i - 1) ? 0 : 1);
  return groups;
}

/** The fit, and the mean that it is about. */
export function fitted(
  prepared: Prepared,
  tuned: Tuned,
  basis: number,
): Fitted & { readonly mean: number } {
  const { points, places, metrics, retained, doubt, groups } = prepared;
  const z = retained.map((value) => toScale(value, tuned.softness));
  const mean = z.reduce((sum, value) => sum + value, 0) / z.length;
  // A measurement's noise is of one size in retained throughput; there the scale is stretched where it is flat.
  const noise = z.map(
    (value, i) =>
      FLOOR + (doubt[i] as number) * (tuned.noise / steepness(value, tuned.softness)) ** 2,
  );
  const near = closeness(places, places, metrics, tuned.reach);
  const centred = z.map((value) => value - mean);
  return { ...conditioned(points, near, tuned, centred, noise, groups, basis), mean };
}

/** Mean absolute error of retained throughput over the training rows, each colocation left out. */
export function leftOutError(prepared: Prepared, tuned: Tuned): number {
  const { leftOut, mean } = fitted(prepared, tuned, TUNING_BASIS);
  const { retained } = prepared;
  return (
    retained.reduce(
      (sum, value, i) =>
        sum + Math.abs(fromScale((leftOut.mean[i] as number) + mean, tuned.softness) - value),
      0,
    ) / retained.length
  );
}

/** Errors of left-out rows, in the standard deviations that the model states for them. */
export function surprises(prepared: Prepared, tuned: Tuned): Float64Array {
  const { leftOut, mean } = fitted(prepared, tuned, BASIS);
  return prepared.retained.map((value, i) => {
    const z = (leftOut.mean[i] as number) + mean;
    const sd = deviation(z, leftOut.variance[i] as number, tuned);
    return Math.abs(value - fromScale(z, tuned.softness)) / sd;
  });
}

/** Of retained throughput, where the process has this variance: its own, and a measurement's. */
export const deviation = (z: number, variance: number, { softness, noise }: Tuned): number =>
  Math.sqrt(variance * steepness(z, softness) ** 2 + noise ** 2);
