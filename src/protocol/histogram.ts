// Log-spaced buckets, the same arithmetic as native/gate/histogram.h: 128 linear steps in each octave
// of microseconds, so a bucket is at most 1/128 = 0.78 % wide. What is under 1 us lands in the first
// bucket, what is over 67 s in the last.
import { constants } from "./layout.ts";

const steps = constants.BUCKETS_PER_OCTAVE;
export const bucketCount = constants.OCTAVES * steps;

/** The bucket of a duration in ns. */
export function bucketOf(ns: number): number {
  const fine = Math.floor((ns * steps) / 1000); // in 1/128 us
  if (fine < steps) return 0;
  const octave = 31 - Math.clz32(Math.min(fine / steps, 2 ** 31));
  const step = Math.floor(fine / 2 ** octave) - steps;
  return Math.min(octave * steps + step, bucketCount - 1);
}

/** Lower edge of a bucket, in microseconds. */
export function bucketStart(bucket: number): number {
  const octave = Math.floor(bucket / steps);
  return 2 ** octave * (1 + (bucket % steps) / steps);
}

// The agent reads thousands of buckets of each client four times a second.
const middles = Float64Array.from(
  { length: bucketCount },
  (_, bucket) => (bucketStart(bucket) + bucketStart(bucket + 1)) / 2,
);

/** Middle of a bucket, in microseconds: what a sample in it is taken for. NaN: there is no such bucket. */
export const bucketMiddle = (bucket: number): number => middles[bucket] ?? Number.NaN;

/** The q-quantile (0..1) of counts, in microseconds; NaN when there are none. */
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

/**
 * The length, in microseconds, of the samples in whose middle half of all their time is over, shorter ones first. Many short
 * samples beside a few long ones hardly change it. NaN when there are none.
 */
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
