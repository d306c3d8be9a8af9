/** Nearest rank: the smallest value that at least a part q of all do not exceed. NaN of nothing. */
export const quantile = (values: Iterable<number>, q: number): number =>
  quantileOfSorted(Float64Array.from(values).sort(), q);

export const quantileOfSorted = (sorted: ArrayLike<number>, q: number): number =>
  sorted[Math.max(Math.ceil(q * sorted.length) - 1, 0)] ?? Number.NaN;

/**
 * The next higher value if a part q is a whole number of values. Recorded results of the cluster
 * simulator and of `bench/model` and `bench/soc` use this definition.
 */
export const upperQuantileOfSorted = (sorted: ArrayLike<number>, q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;

export function medianBySum(sorted: ArrayLike<number>): number {
  const half = Array.from(sorted).reduce((sum, value) => sum + value, 0) / 2;
  let passed = 0;
  for (let i = 0; i < sorted.length; i++) {
    passed += sorted[i] ?? 0;
    if (passed >= half) return sorted[i] ?? Number.NaN;
  }
  return Number.NaN;
}

/** The next of n errors exceeds this bound with probability 1 - q at most (Vovk et al.). */
export const conformalQuantile = (errors: Iterable<number>, q: number): number => {
  const sorted = Float64Array.from(errors).sort();
  return sorted[Math.min(sorted.length, Math.ceil((sorted.length + 1) * q)) - 1] ?? Number.NaN;
};
