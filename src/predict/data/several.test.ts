import { expect, test } from "vitest";
import { beside, compositionDoubt, costOf, multiplying, retainedOf, together } from "./several.ts";

const turns = { exponent: 1, crowding: [1] };

test("slowdowns of 2 and 3 multiply to 6, and add to 4 where clients take turns", () => {
  expect(together([1 / 2, 1 / 3], multiplying)).toBeCloseTo(1 / 6);
  expect(together([1 / 2, 1 / 3], turns)).toBeCloseTo(1 / 4);
  expect(compositionDoubt([1 / 2, 1 / 3])).toBeCloseTo(1 / 4 - 1 / 6);
});

test("one neighbour is a pair, whatever was learned of several", () => {
  expect(together([0.4], { exponent: 0.5, crowding: [1, 1.3] })).toBe(0.4);
  expect(compositionDoubt([0.4])).toBe(0);
});

test("the factor of the most neighbours that were measured is used for more", () => {
  const composition = { exponent: 0, crowding: [1, 1.2] };
  expect(together([0.5, 0.5], composition)).toBeCloseTo(0.25 ** 1.2);
  expect(together([0.5, 0.5, 0.5], composition)).toBeCloseTo(0.125 ** 1.2);
});

test.each([-0.5, 0, 0.5, 1])("a cost at exponent %s becomes the same retained throughput", (e) => {
  for (const retained of [0.05, 0.5, 1, 1.2])
    expect(retainedOf(costOf(retained, e), e)).toBeCloseTo(retained);
});

test("errors of pairs have one cause, so they add", () => {
  const half = { retained: 0.5, sd: 0.1 };
  expect(beside([half], multiplying)).toEqual(half);
  expect(beside([half, half], multiplying).sd).toBeCloseTo(0.25 * (0.2 + 0.2));
  expect(beside([half, { retained: 1, sd: 0 }], turns)).toEqual(half);
});
