import { expect, test } from "vitest";
import { mulberry32 } from "#core";
import { COVERAGE, MIN_PAIRS, retainedRule } from "./rule.ts";
import { type LearnedPair, trainForecast } from "./training.ts";

/** Each service with each job: the busy shares, an addend of each workload up to `own`, and noise. */
function cluster(count: number, { own = 0, noise = 0.02, seed = 1 } = {}): LearnedPair[] {
  const random = mulberry32(seed);
  const spread = (width: number) => width * (random() - 0.5);
  const jobs = Array.from({ length: count }, () => [0.5 + 0.5 * random(), spread(own)] as const);
  const services = Array.from({ length: count }, () => [0.5 * random(), spread(own)] as const);
  return services.flatMap(([load, s], i) =>
    jobs.map(([soloBusy, j], k) => ({
      ...{ service: `s${i}`, job: `j${k}`, load, soloBusy, seconds: 600 },
      ...{ isCensored: false, again: [] },
      value: Math.min(1, Math.max(0, 0.9 - 0.3 * (load + soloBusy) + s + j + spread(noise))),
    })),
  );
}

const trained = (pairs: readonly LearnedPair[], wins = 0) =>
  trainForecast(pairs, retainedRule, wins);

test("too few pairs leave the prior, without a bound", () => {
  const { by, predict } = trained(cluster(4, { own: 0.3 }).slice(0, MIN_PAIRS - 1), 7);
  expect(by).toBe("prior");
  expect(predict({ service: "new", job: "new", load: 0.3, soloBusy: 1 })).toEqual({
    ...{ value: 0.7, low: 0, high: 1 },
  });
});

test("the model decides from the second training on at which it is better", () => {
  const pairs = cluster(7, { own: 0.4 });
  const first = trained(pairs);
  expect(first).toMatchObject({ by: "rule", wins: 1 });
  expect(trained(pairs, first.wins)).toMatchObject({ by: "model", wins: 2 });
});

test("the model is left at the first training at which it is not better, however often it was", () => {
  // Without anything that workloads add, the model learns noise.
  const after = trained(cluster(7, { noise: 0.3 }), 9);
  expect(after).toMatchObject({ by: "rule", wins: 0 });
  expect(after.betterIn).toBeLessThan(0.95);
});

test("a workload that is known moves what is expected of its pairs with others", () => {
  const pairs = cluster(7, { own: 0.4, noise: 0 });
  const { predict } = trained(
    pairs.filter(({ service, job }) => service !== "s0" || job !== "j0"),
    1,
  );
  const [truth] = pairs;
  if (truth === undefined) throw new Error("there are no pairs");
  const known = predict(truth);
  const unknown = predict({ ...truth, service: "new", job: "other" });
  const error = (value: number) => Math.abs(value - truth.value);
  expect(error(known.value)).toBeLessThan(error(unknown.value) / 3);
  expect(known.high - known.low).toBeLessThan(unknown.high - unknown.low);
});

test("a pair that was measured for long is expected as it was measured", () => {
  const [pair, ...rest] = cluster(7, { own: 0.4 });
  if (pair === undefined) throw new Error("there are no pairs");
  const long = { ...pair, value: 0.95, seconds: 60_000 };
  const { value, low, high } = trained([long, ...rest]).predict(pair);
  expect(value).toBeCloseTo(0.95, 1);
  expect(high - low).toBeLessThan(0.02);
});

test("a pair that was measured is expected to differ as much as pairs did that were measured again", () => {
  const [pair, ...rest] = cluster(7, { own: 0.4 });
  if (pair === undefined) throw new Error("there are no pairs");
  const long = { ...pair, value: 0.5, seconds: 60_000 };
  const withErrors = (errors: readonly number[]) => {
    const others = rest.map((one, i) => ({
      ...one,
      again: errors[i] === undefined ? [] : [errors[i]],
    }));
    const { value, low, high } = trained([long, ...others]).predict(pair);
    return { below: value - low, above: high - value };
  };
  const none = withErrors([]);
  // 18 of 19 errors are within the bound that holds in 90 %.
  const many = withErrors(Array.from({ length: 19 }, (_, i) => 0.01 * i - 0.02));
  expect(many.above - none.above).toBeCloseTo(0.15, 2);
  expect(many.below - none.below).toBeCloseTo(0.01, 2);
  // The largest of few.
  const few = withErrors([0.04, -0.03]);
  expect(few.above - none.above).toBeCloseTo(0.04, 2);
  expect(few.below - none.below).toBeCloseTo(0.03, 2);
});

test("the bounds of new workloads hold as often as they say", () => {
  let [above, below, all] = [0, 0, 0];
  for (let seed = 1; seed <= 30; seed++) {
    const { predict } = trained(cluster(6, { own: 0.3, seed }));
    for (const pair of cluster(6, { own: 0.3, seed: 100 + seed })) {
      const { low, high } = predict({ ...pair, service: "new", job: "new" });
      all++;
      if (pair.value > high) above++;
      if (pair.value < low) below++;
    }
  }
  // Pairs of one workload have errors in common, so few workloads leave some more outside.
  expect((above + below) / all).toBeLessThan(2 * (1 - COVERAGE) + 0.04);
  expect((above + below) / all).toBeGreaterThan(0.1);
});

test("a prediction above what a parted pair has shown is no error", () => {
  const pairs = cluster(7, { own: 0.4 });
  const censored = pairs.map((pair) => ({ ...pair, value: 0, isCensored: true }));
  expect(trained(censored).errors).toEqual({ rule: 0, model: 0 });
});
