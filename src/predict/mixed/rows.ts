// Neighbours' metrics are added, so that a row beside several means the same as one beside one.
// Counts span decades, so their logarithms are used. Where little is known, sums over all say most.
import { metricOf } from "../data/colocations.ts";
import { type Features, isRaw, type MetricName } from "../data/metrics.ts";
import type { SmShares } from "../data/predictor.ts";

export function mixedRow(
  target: Features,
  others: readonly Features[],
  metrics: readonly MetricName[],
  shares: SmShares | undefined,
): Float64Array {
  const own = metrics.map((name) => metricOf(target, name));
  const theirs = metrics.map((name) =>
    others.reduce((sum, other) => sum + metricOf(other, name), 0),
  );
  const scaled = (values: readonly number[]) =>
    values.map((value, k) => (isRaw(metrics[k] as MetricName) ? Math.log1p(value) : value));
  return Float64Array.of(
    ...scaled(own),
    ...scaled(theirs),
    others.length,
    shares?.target ?? 1,
    Math.min(1, shares?.others.reduce((sum, share) => sum + share, 0) ?? 1),
    ...scaled(own.map((value, k) => value + (theirs[k] as number))),
  );
}
