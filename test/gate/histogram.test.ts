// The histogram of durations, which C++ fills and TypeScript reads.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bucketCount, bucketOf, bucketStart, medianByTime, quantile } from "#protocol";
import { nativeBucketOf } from "./library.ts";

describe("the histogram", () => {
  test("C++ and TypeScript sort every duration into the same bucket", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 49n }), (ns) => {
        expect(nativeBucketOf(ns)).toBe(bucketOf(Number(ns)));
      }),
      { numRuns: 2000 },
    );
    expect(nativeBucketOf(2n ** 64n - 1n)).toBe(bucketCount - 1);
  });

  test("a bucket holds what it says and is at most 1 % wide, from 1 us to 60 s", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: 60_000_000_000 }), (ns) => {
        const bucket = bucketOf(ns);
        const [from, to] = [bucketStart(bucket), bucketStart(bucket + 1)];
        expect(ns / 1000).toBeGreaterThanOrEqual(from - 1e-9);
        // A duration is cut to 1/128 us before it is sorted.
        expect(ns / 1000).toBeLessThan(to + 1 / 128);
        expect(to / from).toBeLessThanOrEqual(1.01);
      }),
      { numRuns: 2000 },
    );
  });

  test("half of the time is in samples as long as the median by time, or longer", () => {
    const counts = new Uint32Array(bucketCount);
    expect(medianByTime(counts)).toBeNaN();
    const add = (us: number, count: number) => {
      const bucket = bucketOf(us * 1000);
      counts[bucket] = (counts[bucket] ?? 0) + count;
    };
    add(36, 5000);
    add(18_000, 1000);
    expect(medianByTime(counts) / 18_000).toBeCloseTo(1, 1);
    add(36, 600_000);
    expect(medianByTime(counts) / 36).toBeCloseTo(1, 1);
  });

  test("a quantile is within a bucket's width of the exact one", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1000, max: 10_000_000 }), { minLength: 1, maxLength: 300 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (samples, q) => {
          const counts = new Uint32Array(bucketCount);
          for (const ns of samples) counts[bucketOf(ns)] = (counts[bucketOf(ns)] ?? 0) + 1;
          const sorted = samples.toSorted((a, b) => a - b);
          const exact = (sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? 0) / 1000;
          expect(Math.abs(quantile(counts, q) / exact - 1)).toBeLessThan(0.01);
        },
      ),
    );
    expect(quantile(new Uint32Array(bucketCount), 0.5)).toBeNaN();
  });
});
