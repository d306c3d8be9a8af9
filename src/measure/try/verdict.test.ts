import { expect, test } from "vitest";
import type { Ratio } from "../figures/stats.ts";
import { noiseOf } from "../noise/noise.ts";
import { decide, EQUAL_RETAINED, type Figures, MIN_REQUESTS, MIN_RETAINED } from "./verdict.ts";

const ratio = (value: number, low = value, high = value): Ratio => ({
  value,
  low,
  high,
  rounds: [],
});
const figures = (name: Figures["name"], p99: Ratio, retained: number): Figures => ({
  name,
  p99,
  retained: ratio(retained),
});
const cpu = { busyBefore: 0, stealShare: 0, waitShare: 0 };
const noise = (...p99: number[]) =>
  noiseOf({ repeated: [{ what: "the p99 alone", values: p99 }], judged: [], tolerance: 0.2, cpu });
const judge = (all: readonly Figures[], more = {}) =>
  decide({ figures: all, requests: 3000, accepted: 0.2, noise: noise(10, 10.4), ...more });

const slow = figures("time-slicing", ratio(4.51, 4.4, 4.6), 0.75);
const isolated = figures("cotenant-isolated", ratio(1.04, 1.01, 1.07), 0.71);

test("Cotenant is chosen where only it keeps the p99, and an objective uses the room it leaves", () => {
  const { choice, arrangement, slo, sentence } = judge([slow, isolated]);
  expect({ choice, arrangement, slo }).toEqual({
    choice: "cotenant",
    arrangement: "cotenant-isolated",
    slo: "slowdown=20%",
  });
  expect(sentence).toBe(
    "Use Cotenant in mode isolated: the service's p99 is 1.04x [1.01, 1.07] and the training retains 71 %; " +
      "with time slicing 4.51x and 75 %; --slo slowdown=20% lets the training have what your limit leaves.",
  );
});

test("strict rules are advised where only they keep the p99, and then no objective", () => {
  const filled = figures("cotenant-isolated", ratio(1.42, 1.38, 1.5), 0.9);
  const strict = figures("strict-isolated", ratio(1.04, 1.01, 1.07), 0.77);
  const { choice, arrangement, slo, sentence } = judge([slow, filled, strict]);
  expect({ choice, arrangement, slo }).toEqual({
    choice: "cotenant",
    arrangement: "strict-isolated",
    slo: undefined,
  });
  expect(sentence).toMatch(/^Use Cotenant in mode isolated with the policy strict: /);
});

test("without room below the limit no objective is suggested", () => {
  const tight = figures("cotenant-isolated", ratio(1.1, 1.05, 1.19), 0.7);
  expect(judge([tight]).slo).toBeUndefined();
});

test("of those that keep the p99 the one that retains most is chosen", () => {
  const mps = figures("cotenant-mps", ratio(1.11, 1.08, 1.13), 0.71 + EQUAL_RETAINED + 0.01);
  expect(judge([slow, isolated, mps]).arrangement).toBe("cotenant-mps");
});

test("where equally much is retained the simpler one is chosen", () => {
  const mps = figures("mps-priority", ratio(1.14, 1.1, 1.18), 0.72);
  expect(judge([slow, mps, isolated])).toMatchObject({ choice: "mps", slo: undefined });
  const plain = figures("time-slicing", ratio(1.02, 1, 1.05), 0.7);
  expect(judge([plain, mps, isolated]).choice).toBe("time-slicing");
});

test("nothing is shared where the p99 is above the limit everywhere, or next to nothing is retained", () => {
  const missed = figures("cotenant-isolated", ratio(1.42, 1.38, 1.5), 0.8);
  const { choice, sentence } = judge([slow, missed]);
  expect(choice).toBe("no-sharing");
  expect(sentence).toContain("the nearest, Cotenant, isolated, has 1.42x [1.38, 1.50] and 80 %");
  const starved = figures("cotenant-isolated", ratio(1.01), MIN_RETAINED - 0.01);
  expect(judge([slow, starved]).choice).toBe("no-sharing");
});

test("a larger limit accepts what a smaller one refuses", () => {
  const missed = figures("cotenant-isolated", ratio(1.42, 1.38, 1.45), 0.8);
  expect(judge([missed], { accepted: 0.5 }).choice).toBe("cotenant");
});

test("an interval that contains the limit decides nothing, unless another arrangement does", () => {
  const open = figures("cotenant-mps", ratio(1.15, 1.05, 1.25), 0.9);
  expect(judge([slow, open])).toMatchObject({ choice: "unclear" });
  expect(judge([slow, open]).sentence).toBe(
    "On the border of what you accept, a p99 of 1.20x that alone: with Cotenant, mps it is 1.15x [1.05, 1.25], and the training retains 90 %. " +
      "More --rounds or --seconds make the interval narrower; --accept 25% accepts it.",
  );
  expect(judge([slow, isolated, open]).arrangement).toBe("cotenant-isolated");
});

test("noise, and too few requests, decide before any figure does", () => {
  const noisy = judge([isolated], { noise: noise(10, 20) });
  expect(noisy.choice).toBe("unclear");
  expect(noisy.sentence).toMatch(/^Too noisy to judge: the p99 alone differs by 100 %/);
  const few = judge([isolated], { requests: MIN_REQUESTS - 1 });
  expect([few.choice, few.sentence]).toEqual([
    "unclear",
    expect.stringMatching(/^Too few requests/),
  ]);
  const none = judge([isolated], { requests: 0 });
  expect([none.choice, none.sentence]).toEqual([
    "unclear",
    expect.stringMatching(/^No latency to judge: .* Use a lower load/),
  ]);
});

test("a figure without an interval decides nothing", () => {
  const bare = figures("cotenant-isolated", ratio(1.01, Number.NaN, Number.NaN), 0.9);
  expect(judge([bare]).choice).toBe("unclear");
  expect(judge([bare]).sentence).not.toContain("--accept");
});
