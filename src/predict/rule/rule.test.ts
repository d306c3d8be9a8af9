import fc from "fast-check";
import { expect, test } from "vitest";
import { mulberry32 } from "#core";
import { fitMonotone } from "./monotone.ts";
import { COVERAGE, fitRule, type MeasuredBusyPair, MIN_PAIRS, retainedRule } from "./rule.ts";

const at = (x: number, y: number, weight = 1) => ({ x, y, weight });

test("points that are in order are met, and between them it is straight", () => {
  const fitted = fitMonotone([at(2, 0.4), at(1, 0.8)], "falling");
  expect([0, 1, 1.5, 2, 3].map(fitted)).toEqual([0.8, 0.8, expect.closeTo(0.6), 0.4, 0.4]);
});

test("points out of order are pooled by their weights", () => {
  const fitted = fitMonotone([at(1, 0.5, 3), at(2, 0.9, 1)], "falling");
  expect(fitted(1)).toBeCloseTo(0.6);
  expect(fitted(2)).toBeCloseTo(0.6);
});

test("whatever the points are, it is monotone and within their range", () => {
  const points = fc.array(
    fc.record({
      x: fc.integer({ min: 0, max: 9 }),
      y: fc.double({ min: 0, max: 1, noNaN: true }),
      weight: fc.integer({ min: 1, max: 9 }),
    }),
    { minLength: 1, maxLength: 20 },
  );
  fc.assert(
    fc.property(
      points,
      fc.constantFrom("rising" as const, "falling" as const),
      (all, direction) => {
        const fitted = fitMonotone(all, direction);
        const ys = all.map(({ y }) => y);
        const values = Array.from({ length: 40 }, (_, n) => fitted(n / 4));
        for (const [n, value] of values.slice(1).entries()) {
          const step = value - (values[n] ?? Number.NaN);
          expect(direction === "rising" ? step : -step).toBeGreaterThanOrEqual(-1e-9);
          expect(value).toBeGreaterThanOrEqual(Math.min(...ys) - 1e-9);
          expect(value).toBeLessThanOrEqual(Math.max(...ys) + 1e-9);
        }
      },
    ),
  );
});

/** Each service with each job; what a job retains is 1 - load^2 and noise. */
function cluster(count: number, noise: number, seed = 1): MeasuredBusyPair[] {
  const random = mulberry32(seed);
  const jobs = Array.from({ length: count }, () => 0.5 + 0.5 * random());
  const loads = Array.from({ length: count }, () => random());
  return loads.flatMap((load, s) =>
    jobs.map((soloBusy, j) => ({
      ...{ service: `s${s}`, job: `j${j}`, load, soloBusy, seconds: 600 },
      value: Math.max(0, 1 - 0.4 * load - 0.3 * soloBusy + noise * (random() - 0.5)),
    })),
  );
}

test("few pairs leave the prior, with bounds that say nothing", () => {
  const pairs = cluster(6, 0).slice(0, MIN_PAIRS - 1);
  const { predict, isPrior, heldOut } = fitRule(pairs, retainedRule);
  expect(isPrior).toBe(true);
  expect(predict({ service: "s", job: "j", load: 0.3, soloBusy: 1 })).toEqual({
    ...{ value: 0.7, low: 0, high: 1 },
  });
  expect(heldOut[0]).toMatchObject({ low: 0, high: 1 });
});

test("many pairs teach a rule that unknown workloads obey, within its bounds as often as it says", () => {
  let [inside, all, width] = [0, 0, 0];
  for (let seed = 1; seed <= 20; seed++) {
    const { predict } = fitRule(cluster(8, 0.2, seed), retainedRule);
    for (const pair of cluster(8, 0.2, 100 + seed)) {
      const { low, high } = predict(pair);
      all++;
      width += high - low;
      if (pair.value >= low && pair.value <= high) inside++;
    }
  }
  expect(inside / all).toBeGreaterThan(COVERAGE - 0.03);
  expect(width / all).toBeLessThan(0.5);
});

test("held-out predictions know nothing of the pair's service and job", () => {
  const pairs = cluster(8, 0.1);
  const odd = pairs.map((pair) => (pair.service === "s0" ? { ...pair, value: 0 } : pair));
  const heldOut = (all: readonly MeasuredBusyPair[]) =>
    fitRule(all, retainedRule).heldOut.filter((_, i) => all[i]?.service === "s0");
  expect(heldOut(odd).map(({ value }) => value)).toEqual(heldOut(pairs).map(({ value }) => value));
});

test("where one service has all pairs, nothing is held out from others, and the prior predicts it", () => {
  const pairs = cluster(30, 0).filter(({ service }) => service === "s0");
  const { heldOut, isPrior } = fitRule(pairs, retainedRule);
  expect(isPrior).toBe(false);
  expect(heldOut.map(({ value }) => value)).toEqual(pairs.map(({ load }) => 1 - load));
});
