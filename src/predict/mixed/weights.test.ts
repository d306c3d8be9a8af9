import { expect, test } from "vitest";
import { mulberry32 } from "#core";
import { candidateNames, candidates } from "./candidates.ts";
import type { Trial } from "./trials.ts";
import { judge, weightsOf } from "./weights.ts";

const prior = candidateNames.map((name) => candidates[name].prior);
const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

/** One candidate errs by a tenth of what the others err by. */
const trials = (count: number, good: number): Trial[] => {
  const random = mulberry32(1);
  return Array.from({ length: count }, () => {
    const retained = random();
    const answers = Float64Array.from(
      candidateNames,
      (_, c) => retained + (random() - 0.5) * (c === good ? 0.04 : 0.4),
    );
    return { retained, answers, neighbours: 1, measured: true };
  });
};

test("before anything was tried the weights are the prior's, and their sum is 1", () => {
  expect(weightsOf([], 1)).toEqual(prior);
  expect(sumOf(prior)).toBeCloseTo(1);
});

test.each(candidateNames.map((name, c) => [name, c] as const))(
  "many trials that %s passes best give it nearly all weight",
  (_, good) => {
    const weights = weightsOf(trials(400, good), 1);
    expect(weights[good]).toBeGreaterThan(0.8);
    expect(sumOf(weights)).toBeCloseTo(1);
  },
);

test("a few trials move the weights less, and so do trials that count for less", () => {
  const last = candidateNames.length - 1;
  const weight = (count: number, trust: number) => weightsOf(trials(count, last), trust)[last] ?? 0;
  expect(weight(4, 1)).toBeLessThan(weight(40, 1));
  expect(weight(40, 0.1)).toBeLessThan(weight(40, 1));
  expect(weight(4, 1)).toBeGreaterThan(prior[last] ?? 1);
});

test("the interval holds 90 % of the trials", () => {
  const tried = trials(300, 0);
  const { weights, error, width } = judge(tried, [1, 0, 0, 0, 0, 0, 0], 1);
  const held = tried.filter(
    ({ answers, retained }) => Math.abs((answers[0] ?? 0) - retained) <= width * error,
  );
  expect(weights).toHaveLength(candidateNames.length);
  expect(judge(tried, weights, 0.05).width).toBeGreaterThan(width);
  expect(held.length / tried.length).toBeCloseTo(0.9, 1);
});
