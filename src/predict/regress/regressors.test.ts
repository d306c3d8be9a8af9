import { expect, test } from "vitest";
import { mulberry32 } from "#core";
import { boosting } from "./boosting.ts";
import { forest, forestOf } from "./forest.ts";
import { linear, ridge } from "./linear.ts";
import { kaceNetwork, muxflowMlp, network } from "./network.ts";
import { crossValidationError, type Regressor } from "./regressor.ts";
import { search } from "./search.ts";
import { grow, rankValues, treeValue } from "./tree.ts";

const random = mulberry32(5);
const rows = (count: number, width: number) =>
  Array.from({ length: count }, () => new Float64Array(width).map(() => 2 * random() - 1));
const valuesOf = (x: readonly Float64Array[], of: (row: Float64Array) => number) =>
  Float64Array.from(x, of);

const plane = ([a = 0, b = 0, c = 0]: Float64Array) => 2 + 3 * a - b + 0.5 * c;
/** Not a sum of functions of one metric each. */
const corner = ([a = 0, b = 0]: Float64Array) => (a > 0 ? 1 : -1) * (b > 0 ? 1 : -1);

function errorOf<S>(
  { learn, open }: Regressor<S>,
  of: (row: Float64Array) => number,
  count: number,
) {
  const x = rows(count, 3);
  const predict = open(learn(x, valuesOf(x, of), mulberry32(1)));
  const fresh = rows(200, 3);
  return Math.sqrt(
    fresh.reduce((sum, row) => sum + (predict(row) - of(row)) ** 2, 0) / fresh.length,
  );
}

test("least squares finds a plane, and so does ridge, nearly", () => {
  expect(errorOf(linear, plane, 10)).toBeLessThan(1e-9);
  expect(errorOf(ridge, plane, 30)).toBeLessThan(0.02);
});

test("least squares accepts fewer rows than metrics, and columns that are sums of others", () => {
  const x = rows(3, 6);
  const y = Float64Array.of(1, 2, 4);
  const predict = linear.open(linear.learn(x, y, random));
  x.forEach((row, i) => {
    expect(predict(row)).toBeCloseTo(y[i] ?? Number.NaN, 6);
  });
  const twice = rows(20, 2).map(([a = 0, b = 0]) => Float64Array.of(a, b, a + b, 0));
  const { weights } = linear.learn(
    twice,
    valuesOf(twice, ([a = 0, b = 0]) => a - b),
    random,
  );
  expect(weights.every((weight) => Math.abs(weight) < 2)).toBe(true);
});

test("a tree splits where the error falls most", () => {
  const x = [1, 2, 3, 10, 11, 12].map((value, i) => Float64Array.of(i % 2, value));
  const y = Float64Array.of(5, 5, 5, 9, 9, 9);
  const shape = { depth: 5, fewestToSplit: 2, fewestInLeaf: 1, tried: 2 };
  const tree = grow(rankValues(x), y, Int32Array.from(x.keys()), shape, random);
  expect(tree).toEqual([[1, 6.5, 1, 2], 5, 9]);
  expect(treeValue(tree, Float64Array.of(0, 6))).toBe(5);
  const bounded = grow(
    rankValues(x),
    y,
    Int32Array.from(x.keys()),
    { ...shape, fewestInLeaf: 4 },
    random,
  );
  expect(bounded).toEqual([7]);
});

test("trees and networks learn a function of two metrics together, a plane can't", () => {
  const fixed = { trees: 30, tried: "all", depth: 20, fewestToSplit: 2, fewestInLeaf: 1 } as const;
  expect(errorOf(linear, corner, 120)).toBeGreaterThan(0.9);
  expect(errorOf(forestOf({ ...fixed, bootstrap: true }), corner, 120)).toBeLessThan(0.6);
  expect(errorOf(forest(3), corner, 120)).toBeLessThan(0.7);
  expect(errorOf(boosting(3, 100, 0.1), corner, 120)).toBeLessThan(0.6);
  expect(errorOf(network({ ...kaceNetwork, epochs: 60 }), corner, 120)).toBeLessThan(0.7);
  expect(errorOf(network({ ...muxflowMlp, epochs: 60 }), corner, 120)).toBeLessThan(0.8);
});

test("the search chooses what fits, and stops when its time is over", () => {
  const x = rows(60, 3);
  // A clock that counts its readings gives time for the first five.
  const patient = () => {
    let readings = 0;
    return search(5, () => readings++);
  };
  const { winner } = patient().learn(x, valuesOf(x, plane), mulberry32(1));
  expect(winner).toBe("linear");
  let now = 0;
  const hurried = search(1, () => now++ * 1000);
  expect(hurried.learn(x, valuesOf(x, corner), mulberry32(1)).winner).toBe("linear");
  expect(patient().learn(x, valuesOf(x, corner), mulberry32(1)).winner).not.toBe("linear");
});

test("cross-validation judges by rows that were not trained on", () => {
  const x = rows(40, 1);
  const y = valuesOf(x, () => random());
  const parts = [0, 1].map((part) => [...y.keys()].filter((i) => i % 2 === part));
  // Remembers its training rows: exact on them, and useless on others.
  const parrot: Regressor<[number, number][]> = {
    learn: (seen, values) => seen.map((row, i) => [row[0] ?? 0, values[i] ?? 0]),
    open: (state) => (row) => new Map(state).get(row[0] ?? 0) ?? 9,
  };
  expect(crossValidationError(parrot, x, y, parts, random)).toBeGreaterThan(60);
});
