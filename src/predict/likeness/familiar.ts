import { sharedMetrics } from "../data/colocations.ts";
import type { Features, MetricName } from "../data/metrics.ts";
import { logMetrics, standardise, standardOf } from "../data/standard.ts";

/** A workload is unfamiliar if it is farther from all `known` than each of these from its next. */
export function familiarity(
  known: readonly Features[],
  metrics: readonly MetricName[] = sharedMetrics(known),
): (features: Features) => boolean {
  const rows = known.map((features) => logMetrics(features, metrics));
  const standard = standardOf(rows);
  const places = rows.map((row) => standardise(standard, row));
  const nearest = (place: Float64Array, except = -1) =>
    Math.min(
      ...places.map((other, i) => (i === except ? Number.POSITIVE_INFINITY : gap(place, other))),
    );
  const gaps = places.map((place, i) => nearest(place, i)).filter(Number.isFinite);
  const usual = Math.max(0, ...gaps);
  const told = new WeakMap<Features, boolean>();
  return (features) => {
    const before = told.get(features);
    if (before !== undefined) return before;
    const is = nearest(standardise(standard, logMetrics(features, metrics))) <= usual;
    told.set(features, is);
    return is;
  };
}

const gap = (a: Float64Array, b: Float64Array): number =>
  Math.sqrt(a.reduce((sum, value, k) => sum + (value - (b[k] as number)) ** 2, 0) / a.length);
