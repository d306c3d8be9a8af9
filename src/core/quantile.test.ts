import { expect, test } from "vitest";
import {
  conformalQuantile,
  medianBySum,
  quantile,
  quantileOfSorted,
  upperQuantileOfSorted,
} from "./quantile.ts";

const ten = Array.from({ length: 10 }, (_, i) => i + 1);

test("a quantile is the smallest value that so many do not exceed, in any order of the values", () => {
  expect([0, 0.01, 0.5, 0.51, 0.99, 1].map((q) => quantile(ten.toReversed(), q))).toEqual([
    1, 1, 5, 6, 10, 10,
  ]);
  expect(quantileOfSorted(ten, 0.5)).toBe(5);
});

test("the upper quantile differs only where the rank is whole", () => {
  expect([0, 0.01, 0.5, 0.51, 0.99, 1].map((q) => upperQuantileOfSorted(ten, q))).toEqual([
    1, 1, 6, 6, 10, 10,
  ]);
});

test("an error of ten is exceeded by the eleventh with a tenth's probability: the largest", () => {
  expect(conformalQuantile(ten, 0.9)).toBe(10);
  expect(conformalQuantile(ten, 0.5)).toBe(6);
  expect(conformalQuantile(ten, 1)).toBe(10);
});

test("there is no quantile of nothing", () => {
  expect(quantile([], 0.5)).toBeNaN();
  expect(upperQuantileOfSorted([], 0.5)).toBeNaN();
  expect(conformalQuantile([], 0.5)).toBeNaN();
});

test("half of the sum is in values at least as large as the median by sum", () => {
  expect(medianBySum([1, 1, 1, 1, 4])).toBe(1);
  expect(medianBySum([1, 1, 1, 1, 5])).toBe(5);
  expect(medianBySum([])).toBeNaN();
});
