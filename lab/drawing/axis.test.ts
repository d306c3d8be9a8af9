import { expect, test } from "vitest";
import { roundTicks } from "./axis.ts";

test.each([
  { from: 0, to: 60, most: 12, ticks: [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60] },
  { from: 0, to: 0.3, most: 3, ticks: [0, 0.1, 0.2, 0.3] },
  { from: 1, to: 1.25, most: 5, ticks: [1, 1.05, 1.1, 1.15, 1.2, 1.25] },
])(
  "from $from to $to there are round numbers, at most $most steps",
  ({ from, to, most, ticks }) => {
    expect(roundTicks(from, to, most)).toEqual(ticks);
  },
);

test("a step is one of the mantissas times a power of ten", () => {
  expect(roundTicks(0, 12, 5, [1, 2, 2.5, 5, 10])).toEqual([0, 2.5, 5, 7.5, 10]);
});
