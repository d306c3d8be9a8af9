// The arithmetic is that of native/gate/histogram.h. Less than 1 us lands in the first bucket, more
// than 67 s in the last.
import { constants } from "./layout.ts";

const steps = constants.BUCKETS_PER_OCTAVE;
export const bucketCount = constants.OCTAVES * steps;

export function bucketOf(ns: number): number {
  const fine = Math.floor((ns * steps) / 1000); // in 1/128 us
  if (fine < steps) return 0;
  const octave = 31 - Math.clz32(Math.min(fine / steps, 2 ** 31));
  const step = Math.floor(fine / 2 ** octave) - steps;
  return Math.min(octave * steps + step, bucketCount - 1);
}

/** The lower edge is in us. */
export function bucketStart(bucket: number): number {
  const octave = Math.floor(bucket / steps);
  return 2 ** octave * (1 + (bucket % steps) / steps);
}

const middles = Float64Array.from(
  { length: bucketCount },
  (_, bucket) => (bucketStart(bucket) + bucketStart(bucket + 1)) / 2,
);

export const bucketMiddle = (bucket: number): number => middles[bucket] ?? Number.NaN;

/** In us; NaN without counts. */
export function quantile(counts: Uint32Array, q: number): number {
  let total = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) total += counts[bucket] ?? 0;
  if (total === 0) return Number.NaN;
  const rank = Math.min(total, Math.max(1, Math.ceil(q * total)));
  let seen = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    seen += counts[bucket] ?? 0;
    if (seen >= rank) return bucketMiddle(bucket);
  }
  return bucketMiddle(counts.length - 1);
}

/** Half of the samples' time is in samples at least this long. In us; NaN without counts. */
export function medianByTime(counts: Uint32Array): number {
  const timeOf = (count: number, bucket: number) =>
    count === 0 ? 0 : count * bucketMiddle(bucket);
  let total = 0;
  for (let bucket = 0; bucket < counts.length; bucket++)
    total += timeOf(counts[bucket] ?? 0, bucket);
  if (total === 0) return Number.NaN;
  let seen = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    seen += timeOf(counts[bucket] ?? 0, bucket);
    if (seen >= total / 2) return bucketMiddle(bucket);
  }
  return bucketMiddle(counts.length - 1);
}
