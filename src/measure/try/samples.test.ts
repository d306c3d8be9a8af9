import { expect, test } from "vitest";
import { bucketCount, bucketOf } from "#protocol";
import { type Block, blockOfHistogram, countOf, quantileOf, quantileRatio } from "./samples.ts";

const block = (...ms: number[]): Block => ms.map((one) => [one, 1]);

test("a histogram in shared memory becomes milliseconds with counts", () => {
  const counts = new Uint32Array(bucketCount);
  counts[bucketOf(2e6)] = 3;
  const [[ms, count] = [0, 0], ...more] = blockOfHistogram(counts);
  expect(ms).toBeCloseTo(2, 1);
  expect([count, more]).toEqual([3, []]);
});

test("quantiles are by nearest rank over all blocks", () => {
  const blocks = [block(5, 1, 3), [[9, 7]] as Block];
  expect(countOf(blocks)).toBe(10);
  expect([0.1, 0.2, 0.3, 0.31, 0.99].map((q) => quantileOf(blocks, q))).toEqual([1, 3, 5, 9, 9]);
  expect(quantileOf([], 0.5)).toBeNaN();
});

test("the ratio of equal rounds is 1 with an interval of no width", () => {
  const rounds = [[block(4, 4), block(4, 4)], [block(4, 4)]];
  expect(quantileRatio(rounds, rounds, 0.99)).toMatchObject({
    value: 1,
    low: 1,
    high: 1,
    rounds: [1, 1],
  });
});

test("rounds that differ make the interval wide, though each of them is steady", () => {
  const solo = [[block(4, 4)], [block(4, 4)], [block(4, 4)]];
  const colocated = [[block(4, 4)], [block(8, 8)], [block(4, 4)]];
  const { low, high, rounds } = quantileRatio(solo, colocated, 0.5);
  expect([low, high]).toEqual([1, 2]);
  expect(rounds).toEqual([1, 2, 1]);
});

test("one round has a figure and no interval", () => {
  const { value, low, high } = quantileRatio([[block(2)]], [[block(3)]], 0.5);
  expect(value).toBe(1.5);
  expect([low, high]).toEqual([Number.NaN, Number.NaN]);
});
