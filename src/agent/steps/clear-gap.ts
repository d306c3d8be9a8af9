export interface Split {
  readonly threshold: number;
  readonly below: number;
}

/**
 * Finds where positive numbers fall into two groups, with a ratio of at least `ratio` between them,
 * the widest gap first. A part `outliers` of the numbers may lie in the gap on either side. Numbers
 * that are spread evenly on a logarithmic scale have no gap.
 */
export function clearGaps(
  numbers: readonly number[],
  ratio: number,
  outliers: number,
): readonly Split[] {
  const sorted = Float64Array.from(numbers).sort();
  const few = Math.floor(outliers * sorted.length);
  const gaps: { readonly width: number; readonly threshold: number }[] = [];
  for (let i = few + 1, adjoins = false; i < sorted.length - few; i++) {
    const [below, above] = [sorted[i - 1 - few] ?? Number.POSITIVE_INFINITY, sorted[i + few] ?? 0];
    const width = above / below;
    const wide = width >= ratio;
    const gap = { width, threshold: Math.sqrt(above * below) };
    if (wide && !adjoins) gaps.push(gap);
    else if (wide && width >= (gaps.at(-1)?.width ?? 0)) gaps[gaps.length - 1] = gap;
    adjoins = wide;
  }
  return gaps
    .toSorted((one, other) => other.width - one.width)
    .map(({ threshold }) => ({
      threshold,
      below: sorted.findIndex((number) => number >= threshold),
    }));
}

export const clearGap = (
  numbers: readonly number[],
  ratio: number,
  outliers: number,
): Split | undefined => clearGaps(numbers, ratio, outliers)[0];
