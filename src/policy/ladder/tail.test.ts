import { expect, test } from "vitest";
import { mulberry32 } from "#core";
import { noTail, type Tail, tailOf, withValues } from "./tail.ts";

const random = mulberry32(5);
const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const exponential = () => -Math.log(1 - random());

/** Told as the means of groups of this size. */
function told(groups: number, size: number, draw: () => number): Tail {
  let tail = noTail;
  for (let i = 0; i < groups; i++) {
    const mean = Array.from({ length: size }, draw).reduce((sum, value) => sum + value, 0) / size;
    tail = withValues(tail, size, mean);
  }
  return tail;
}

const lognormal = () => Math.exp(0.4 * normal());
const truth = Math.exp(0.4 * 3.09);

test.each([20, 100, 400])(
  "of %d lognormal values the tail covers 99.9 of 100, nearly always, and is not far above",
  (groups) => {
    const tails = Array.from({ length: 100 }, () => tailOf(told(groups, 1, lognormal)) ?? 0);
    expect(tails.filter((tail) => tail < truth * 0.9).length).toBeLessThan(20);
    expect(tails.toSorted((a, b) => a - b)[50]).toBeLessThan(truth * 1.7);
  },
);

test("the spread of single values follows from means of ten", () => {
  const tails = Array.from({ length: 100 }, () => tailOf(told(100, 10, lognormal)) ?? 0);
  const middle = tails.toSorted((a, b) => a - b)[50];
  expect(middle).toBeGreaterThan(truth * 0.8);
  expect(middle).toBeLessThan(truth * 1.7);
});

test("values with a short tail are not taken for lognormal ones", () => {
  const tail = tailOf(told(400, 1, exponential)) ?? Number.NaN;
  expect(tail).toBeGreaterThan(Math.log(1000) * 0.8);
  expect(tail).toBeLessThan(Math.log(1000) * 2);
});

test("values that are alike are told from a few", () => {
  expect(tailOf(told(8, 1, () => 40 + normal()))).toBeLessThan(50);
});

test("four values tell nothing, and no values change nothing", () => {
  expect(tailOf(told(4, 1, lognormal))).toBeUndefined();
  expect(withValues(noTail, 0, Number.NaN)).toBe(noTail);
});

test("one accident among many values hardly counts", () => {
  const usual = told(100, 1, exponential);
  const tail = tailOf(withValues(usual, 1, 100)) ?? Number.NaN;
  expect(tail).toBeLessThan(1.5 * (tailOf(usual) ?? 0));
});

test("a thousand values later the longest is forgotten", () => {
  let tail = withValues(noTail, 1, 100);
  for (let i = 0; i < 1000; i++) tail = withValues(tail, 1, 1 + (i % 7) / 10);
  expect(tailOf(tail)).toBeLessThan(4);
});
