import { describe, expect, test } from "vitest";
import { Interval, MAX_ANSWERING_SHARE } from "./interval.ts";

const intervalAfter = (...answersMs: readonly number[]) => {
  const interval = new Interval();
  for (const ms of answersMs) interval.answered(1e6 * ms);
  return interval;
};
const many = (kind: "ttft" | "itl") =>
  ({
    kind,
    quantile: "p99",
    ...{ statedUs: 1, limitUs: 1, judgedAtUs: 1, firstBoundUs: 1, unsure: 0 },
    ...{ meanUs: 1, p50Us: 1, p99Us: 1, counts: { values: 100, above: 0, near: 0 } },
  }) as const;

describe("a service is asked", () => {
  test("once a second, and five times a second while it ends many requests", () => {
    const quick = intervalAfter(1);
    expect(quick.ns).toBe(0.95e9);
    quick.counted([many("ttft")], 1e9);
    expect(quick.ns).toBe(0.2e9);
    quick.counted([many("itl")], 1e9);
    expect(quick.ns).toBe(0.95e9);
  });

  test.each([20, 50, 200, 500])("so seldom that answers of %d ms take 2 %% of the time", (ms) => {
    const interval = intervalAfter(ms, ms, ms);
    interval.counted([many("ttft")], 1e9);
    expect((1e6 * ms) / interval.ns).toBeCloseTo(MAX_ANSWERING_SHARE);
  });

  test("every half minute at least, however long an answer takes", () => {
    expect(intervalAfter(900, 900).ns).toBe(30e9);
  });

  test("as usual although one answer of three, or the first one, was slow", () => {
    expect(intervalAfter(2, 700, 3).ns).toBe(0.95e9);
    expect(intervalAfter(700, 3).ns).toBe(0.95e9);
  });
});

test("an interval is slow if it is longer than the usual one because of what answers cost", () => {
  expect(intervalAfter().slow).toBeUndefined();
  expect(intervalAfter(15).slow).toBeUndefined();
  expect(intervalAfter(200, 200).slow).toEqual({ everyNs: 10e9, answerNs: 200e6 });
});
