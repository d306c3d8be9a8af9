/** Two groups of numbers: `below` the threshold, and the others. */
export interface Split {
  readonly threshold: number;
  readonly below: number;
}

/**
 * Where positive numbers fall into two groups with hardly any between them: the widest gap, as a ratio, of at least `ratio`. A
 * part `outliers` of the numbers may lie in the gap on either side of its middle. undefined: there is none. Numbers that are
 * spread evenly on a logarithmic scale have none.
 */
export function clearGap(
  numbers: readonly number[],
  ratio: number,
  outliers: number,
): Split | undefined {
  const sorted = Float64Array.from(numbers).sort();
  const few = Math.floor(outliers * sorted.length);
  let [widest, at] = [ratio, 0];
  for (let i = few + 1; i < sorted.length - few; i++) {
    const gap = (sorted[i + few] ?? 0) / (sorted[i - 1 - few] ?? Number.POSITIVE_INFINITY);
    if (gap >= widest) [widest, at] = [gap, i];
  }
  if (at === 0) return undefined;
  const threshold = Math.sqrt((sorted[at + few] ?? 0) * (sorted[at - 1 - few] ?? 0));
  return { threshold, below: sorted.findIndex((number) => number >= threshold) };
}
