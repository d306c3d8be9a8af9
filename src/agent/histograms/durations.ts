import { bucketMiddle } from "#protocol";

/** In seconds. A burst is at most 0.8 % off the side of a bound that it is counted on. */
export const durationBounds: readonly number[] = [
  1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

export interface DurationHistogram {
  /** The last count is over all bounds; each other is above the bound before. */
  readonly counts: readonly number[];
  readonly sumSeconds: number;
}

export function coarseHistogram(fine: Uint32Array): DurationHistogram {
  const counts = [...durationBounds, Number.POSITIVE_INFINITY].map(() => 0);
  let sumSeconds = 0;
  let bound = 0;
  for (let bucket = 0; bucket < fine.length; bucket++) {
    const count = fine[bucket] ?? 0;
    if (count === 0) continue; // most of thousands
    const seconds = bucketMiddle(bucket) / 1e6;
    while (seconds > (durationBounds[bound] ?? Number.POSITIVE_INFINITY)) bound++;
    counts[bound] = (counts[bound] ?? 0) + count;
    sumSeconds += count * seconds;
  }
  return { counts, sumSeconds };
}
