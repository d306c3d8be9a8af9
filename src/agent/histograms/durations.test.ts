import fc from "fast-check";
import { expect, test } from "vitest";
import { bucketCount, bucketMiddle, bucketOf } from "#protocol";
import { coarseHistogram, durationBounds } from "./durations.ts";

test("bursts are counted up to the bound that they do not exceed", () => {
  const fine = new Uint32Array(bucketCount);
  for (const [ms, count] of [
    [0.05, 1],
    [0.3, 2],
    [4.9, 3],
    [5.1, 4],
    [20_000, 5],
  ] as const)
    fine[bucketOf(ms * 1e6)] = count;
  const { counts, sumSeconds } = coarseHistogram(fine);
  const shown = counts.map((count, i) => [durationBounds[i] ?? "over", count]);
  expect(shown.filter(([, count]) => count !== 0)).toEqual([
    [1e-4, 1],
    [5e-4, 2],
    [5e-3, 3],
    [1e-2, 4],
    ["over", 5],
  ]);
  expect(sumSeconds).toBeCloseTo(100.036, 0);
});

test("no burst is lost or counted twice", () => {
  const some = fc.array(fc.tuple(fc.nat(bucketCount - 1), fc.nat(1000)), { maxLength: 50 });
  fc.assert(
    fc.property(some, (entries) => {
      const fine = new Uint32Array(bucketCount);
      for (const [bucket, count] of entries) fine[bucket] = count;
      const total = fine.reduce((sum, count) => sum + count, 0);
      const { counts, sumSeconds } = coarseHistogram(fine);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(total);
      const longest = bucketMiddle(bucketCount - 1) / 1e6;
      expect(sumSeconds).toBeLessThanOrEqual(total * longest * 1.000001);
    }),
  );
});
