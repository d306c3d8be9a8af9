import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readHistograms } from "#core";
import { requestLimits } from "#policy";
import { engine, nothing, only, TTFT } from "./engine-histograms.ts";
import { allHistograms, judge, missingKinds } from "./judge.ts";

describe("requests are compared with the limit", () => {
  test("by the histogram's bound, where there is one at the limit", () => {
    expect(only({ ttft: 250_000 }, nothing, engine([10, 20, 28, 30]))).toMatchObject({
      kind: "ttft",
      judgedAtUs: 250_000,
      counts: { values: 30, above: 2 },
    });
  });

  test("by the next bound below, so that what lies between counts as above", () => {
    expect(only({ ttft: 200_000 }, nothing, engine([10, 20, 28, 30]))).toMatchObject({
      judgedAtUs: 100_000,
      counts: { values: 30, above: 10 },
    });
  });

  test("by none where all bounds are above it: then all are", () => {
    expect(only({ ttft: 20_000 }, nothing, engine([30, 30, 30, 30]))).toMatchObject({
      judgedAtUs: 0,
      counts: { values: 30, above: 30, near: 30 },
    });
  });

  test("near is above three quarters of it, by a bound again", () => {
    expect(only({ ttft: 250_000 }, nothing, engine([10, 20, 28, 30]))?.counts.near).toBe(10);
    expect(only({ ttft: 100_000 }, nothing, engine([10, 20, 28, 30]))?.counts.near).toBe(20);
  });

  test("and only those since the last answer", () => {
    const { counts, p50Us, p99Us } =
      only({ ttft: 250_000 }, engine([10, 20, 28, 30]), engine([10, 24, 32, 34])) ?? {};
    expect(counts).toMatchObject({ values: 4, above: 0, near: 0 });
    expect([p50Us, p99Us]).toEqual([100_000, 100_000]);
  });

  test("from the beginning, where the counters began anew", () => {
    const { counts } =
      only({ ttft: 250_000 }, engine([10, 20, 28, 30]), engine([1, 2, 3, 4])) ?? {};
    expect(counts).toMatchObject({ values: 4, above: 1, near: 2 });
  });

  test("and an empty second says nothing", () => {
    const same = engine([10, 20, 28, 30]);
    const found = only({ ttft: 250_000 }, same, same);
    expect(found).toMatchObject({ counts: { values: 0, above: 0, near: 0 }, p99Us: undefined });
  });

  describe("a few values by their mean, where the histogram has a sum", () => {
    const judged = (limitUs: number, counts: readonly number[], sum: number) => {
      const from = engine([10, 20, 28, 30], { sum: 5 });
      const to = engine(
        counts.map((n, i) => n + ([10, 20, 28, 30][i] ?? 0)),
        { sum: 5 + sum },
      );
      return only({ ttft: limitUs }, from, to);
    };

    test.each([
      { ms: 180, above: 0, near: 1 },
      { ms: 140, above: 0, near: 0 },
      { ms: 201, above: 1, near: 1 },
    ])("one of $ms ms: above 200 ms $above, near it $near", ({ ms, above, near }) => {
      expect(judged(200_000, [0, 0, 1, 1], ms / 1000)).toMatchObject({
        judgedAtUs: 200_000,
        counts: { values: 1, above, near },
      });
    });

    test("three between the same bounds", () => {
      expect(judged(200_000, [0, 0, 3, 3], 0.59)?.counts).toMatchObject({
        values: 3,
        above: 0,
        near: 3,
      });
      expect(judged(200_000, [0, 0, 3, 3], 0.61)?.counts.above).toBe(3);
    });

    test("beyond the last bound, too", () => {
      expect(judged(400_000, [0, 0, 0, 2], 0.7)?.counts).toMatchObject({
        values: 2,
        above: 0,
        near: 2,
      });
    });

    test.each([
      ["where another lies beyond the next bound", [0, 0, 1, 2], 0.6],
      ["a sum that contradicts the buckets", [0, 0, 1, 1], 0.01],
      ["no sum", [0, 0, 1, 1], Number.NaN],
    ])("but not %s", (_, counts, sum) => {
      const found = judged(200_000, counts, sum);
      expect(found).toMatchObject({ judgedAtUs: 100_000 });
      expect(found?.counts.above).toBe((counts[3] ?? 0) - (counts[1] ?? 0));
    });
  });

  describe("more values by their sum", () => {
    const judged = (counts: readonly number[], sum: number, name = TTFT) =>
      only(
        name === TTFT ? { ttft: 200_000 } : { tpot: 200_000 },
        engine([0, 0, 0, 0], { name, sum: 0 }),
        engine(counts, { name, sum }),
      )?.counts.above;

    test("four: as many as it allows are above", () => {
      expect(judged([0, 0, 4, 4], 0.45)).toBe(0);
      expect(judged([0, 0, 4, 4], 0.6)).toBe(2);
      expect(judged([0, 0, 4, 4], 0.98)).toBe(4);
    });

    test("others, which lie below, are taken for as short as they can be", () => {
      expect(judged([0, 1, 2, 2], 0.2)).toBe(0);
      expect(judged([0, 1, 2, 2], 0.26)).toBe(1);
    });

    test("times per token that came together are alike, on whichever side of a bound", () => {
      const TPOT = "vllm:request_time_per_output_token_seconds";
      expect(judged([0, 3, 8, 8], 8 * 0.11, TPOT)).toBe(0);
      expect(judged([0, 3, 8, 8], 8 * 0.21, TPOT)).toBe(5);
      expect(judged([0, 0, 7, 8], 8 * 0.13, TPOT)).toBe(1);
    });

    test("but not where they lie bounds apart", () => {
      const TPOT = "vllm:request_time_per_output_token_seconds";
      expect(judged([7, 7, 7, 8], 7 * 0.04 + 0.3, TPOT)).toBe(1);
      expect(judged([7, 7, 8, 8], 7 * 0.05 + 0.24, TPOT)).toBe(1);
    });
  });

  test("beyond the last bound no quantile is known", () => {
    expect(only({ ttft: 250_000 }, nothing, engine([0, 0, 0, 9]))?.p50Us).toBeUndefined();
  });
});

test.each([
  ["p50", 50_000],
  ["p90", 100_000],
  ["p95", 250_000],
  ["p99", undefined],
  ["mean", 80_000],
] as const)("of requests the %s is told that the objective is about", (quantile, us) => {
  const limits = { ttft: { kind: "ttft", quantile, limitUs: 250_000 } } as const;
  const from = engine([0, 0, 0, 0], { sum: 0 });
  const [found] = judge(limits, from, engine([50, 92, 97, 100], { sum: 8 }));
  expect(found?.quantile).toBe(quantile);
  if (us === undefined) expect(found?.statedUs).toBeUndefined();
  else expect(found?.statedUs).toBeCloseTo(us);
});

test("milliseconds are told from seconds by the name", () => {
  const triton = "nv_inference_first_response_histogram_ms";
  const of = (within: number, all: number) =>
    readHistograms(
      `${triton}_bucket{model="m",le="100"} ${within}\n${triton}_bucket{model="m",le="+Inf"} ${all}`,
      allHistograms,
    );
  expect(only({ ttft: 100_000 }, of(0, 0), of(3, 4))).toMatchObject({
    judgedAtUs: 100_000,
    counts: { values: 4, above: 1 },
  });
});

test("the newest name of a histogram is used, and a server without any is told of", () => {
  const [old, now] = ["vllm:time_per_output_token_seconds", "vllm:inter_token_latency_seconds"];
  const both = (values: number) =>
    new Map([
      ...engine([1, 1, 1, 1], { name: old }),
      ...engine([values, values, values, values], { name: now }),
    ]);
  expect(only({ itl: 250_000 }, both(0), both(5))?.counts.values).toBe(5);
  expect(missingKinds(requestLimits({ ttft: 1, itl: 1, e2e: 1 }), both(5))).toEqual([
    "ttft",
    "e2e",
  ]);
});

test("SGLang's time per output token is read", () => {
  const name = "sglang:request_time_per_output_token_seconds";
  const found = only(
    { tpot: 50_000 },
    engine([0, 0, 0, 0], { name }),
    engine([3, 3, 3, 4], { name }),
  );
  expect(found).toMatchObject({ kind: "tpot", counts: { values: 4, above: 1 } });
});

describe("each of a few values is told by bounds and sum", () => {
  const boundsS = [0, 0.05, 0.1, 0.25, 2];
  /** The values of a ttft that came at once. */
  const each = (seconds: readonly number[], name?: string) => {
    const counts = [0.05, 0.1, 0.25, Infinity].map((le) => seconds.filter((s) => s <= le).length);
    const sum = seconds.reduce((sum, s) => sum + s, 0);
    const empty = engine([0, 0, 0, 0], { sum: 0, ...(name && { name }) });
    const limits = name ? { tpot: 100_000 } : { ttft: 100_000 };
    return only(limits, empty, engine(counts, { sum, ...(name && { name }) }))?.counts.each;
  };
  const bucketOf = (s: number) => boundsS.findLastIndex((from) => s > from);

  test("one is known by the sum", () => {
    expect(each([0.2])?.[0]).toBeCloseTo(200_000);
    expect(each([1.4])?.[0]).toBeCloseTo(1_400_000);
  });

  test("a short sum tells that the one in a wide bucket is short, too", () => {
    const [, , , longest = 0] = each([0.055, 0.055, 0.055, 0.11]) ?? [];
    expect(longest).toBeGreaterThan(100_000);
    expect(longest).toBeLessThan(125_000);
  });

  test("any are between their bounds, and their sum is right", () => {
    const values = fc.array(fc.double({ min: 0.001, max: 2, noNaN: true }), {
      minLength: 1,
      maxLength: 16,
    });
    fc.assert(
      fc.property(values, (seconds) => {
        const told = each(seconds) ?? [];
        expect(told).toHaveLength(seconds.length);
        const sum = seconds.reduce((sum, s) => sum + s, 0);
        expect(told.reduce((sum, us) => sum + us, 0) / 1e6 / sum).toBeCloseTo(1, 1);
        const sorted = seconds.toSorted((a, b) => a - b);
        told.forEach((us, i) => {
          const bucket = bucketOf(sorted[i] ?? 0);
          expect(us / 1e6).toBeGreaterThanOrEqual((boundsS[bucket] ?? 0) * 0.999);
          if (bucket < 3) expect(us / 1e6).toBeLessThanOrEqual((boundsS[bucket + 1] ?? 0) * 1.001);
        });
      }),
    );
  });

  const TPOT = "vllm:request_time_per_output_token_seconds";

  test("more than 16 are not, nor times per token, which are alike", () => {
    expect(each(Array.from({ length: 17 }, () => 0.2))).toBeUndefined();
    expect(each([0.06, 0.07], TPOT)).toBeUndefined();
    expect(each([0.04, 0.07], TPOT)).toBeUndefined();
  });

  test("times per token are where they lie bounds apart, as those of answers of a few tokens", () => {
    const [shorter = 0, longer = 0] = each([0.04, 0.12], TPOT) ?? [];
    expect(shorter).toBeLessThanOrEqual(50_000);
    expect(longer).toBeGreaterThan(100_000);
  });
});
