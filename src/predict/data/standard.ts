// Raw counts of a workload span decades, so their logarithms are used. Sums over a colocation stay
// as they are (KACE, section 3.2: "we normalize").
import { metricOf } from "./colocations.ts";
import { type Features, isRaw, type MetricName } from "./metrics.ts";

export interface Standard {
  readonly centre: readonly number[];
  readonly spread: readonly number[];
}

export function standardOf(rows: readonly ArrayLike<number>[]): Standard {
  const width = rows[0]?.length ?? 0;
  const centre: number[] = [];
  const spread: number[] = [];
  for (let k = 0; k < width; k++) {
    const values = rows.map((row) => row[k] as number);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    centre.push(mean);
    // A constant column has no information, and its spread must not be a divisor of 0.
    spread.push(Math.sqrt(variance) > 1e-12 * (1 + Math.abs(mean)) ? Math.sqrt(variance) : 1);
  }
  return { centre, spread };
}

export const standardise = ({ centre, spread }: Standard, row: ArrayLike<number>): Float64Array =>
  Float64Array.from(centre, (middle, k) => ((row[k] as number) - middle) / (spread[k] as number));

export const logMetrics = (features: Features, metrics: readonly MetricName[]): readonly number[] =>
  metrics.map((name) => {
    const value = metricOf(features, name);
    return isRaw(name) ? Math.log1p(value) : value;
  });
