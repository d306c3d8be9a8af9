import fc from "fast-check";
import { inverse, Matrix } from "ml-matrix";
import { expect, test } from "vitest";
import { mulberry32 } from "#core";
import { at, dot } from "./cholesky.ts";
import {
  closeness,
  covariance,
  fitPoints,
  gaps,
  ownVariance,
  quadratic,
  readout,
} from "./process.ts";

const kernel = { reach: 1, own: 0.4, shareReach: 0.7, interplay: 0.5, amplitude: 0.8 };
const METRICS = 2;

/** `pairs` observations of both sides, of random workloads at random shares. */
function example(workloads: number, pairs: number, seed: number) {
  const random = mulberry32(seed);
  const places = new Float64Array(workloads * METRICS).map(() => 4 * random() - 2);
  const pick = () => Math.floor(random() * workloads);
  const rows = Array.from({ length: pairs }, () => [pick(), pick(), -random(), -random()]);
  const both = rows.flatMap(([a = 0, b = 0, s = 0, t = 0]) => [
    [a, b, s, t],
    [b, a, t, s],
  ]);
  const points = {
    target: Int32Array.from(both, ([a = 0]) => a),
    neighbour: Int32Array.from(both, ([, b = 0]) => b),
    targetShare: Float64Array.from(both, ([, , s = 0]) => s),
    neighbourShare: Float64Array.from(both, ([, , , t = 0]) => t),
  };
  const y = Float64Array.from(both, () => 2 * random() - 1);
  return {
    places,
    points,
    y,
    noise: y.map(() => 0.05 + random()),
    groups: Int32Array.from(both.keys(), (i) => i >> 1),
  };
}

/** The textbook formulas with dense matrices. */
function dense({ places, points, y, noise }: ReturnType<typeof example>, kept: readonly number[]) {
  const near = closeness(gaps(places, places, METRICS), kernel);
  const side = Math.sqrt(near.length);
  const k = (i: number, j: number) =>
    covariance(
      kernel,
      at(near, at(points.target, i) * side + at(points.target, j)),
      at(near, at(points.neighbour, i) * side + at(points.neighbour, j)),
      (at(points.targetShare, i) - at(points.targetShare, j)) ** 2 +
        (at(points.neighbourShare, i) - at(points.neighbourShare, j)) ** 2,
    );
  const gram = new Matrix(kept.map((i) => kept.map((j) => k(i, j) + (i === j ? at(noise, i) : 0))));
  const inverted = inverse(gram);
  const wanted = Matrix.columnVector(kept.map((i) => at(y, i)));
  return (i: number) => {
    const cross = Matrix.rowVector(kept.map((j) => k(i, j)));
    return {
      mean: cross.mmul(inverted).mmul(wanted).get(0, 0),
      variance: k(i, i) - cross.mmul(inverted).mmul(cross.transpose()).get(0, 0),
      cross: Float64Array.from(cross.to1DArray()),
    };
  };
}

test("with a pivot for each point the approximation is exact", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 8 }),
      fc.integer({ min: 1, max: 12 }),
      fc.nat(1000),
      (workloads, pairs, seed) => {
        const made = example(workloads, pairs, seed);
        const { places, points, y, noise, groups } = made;
        const n = y.length;
        const near = closeness(gaps(places, places, METRICS), kernel);
        const fitted = fitPoints(points, near, kernel, y, noise, groups, n);
        const all = Array.from({ length: n }, (_, i) => i);
        const exact = dense(made, all);
        const read = readout(fitted);
        for (const i of all) {
          const { mean, variance, cross } = exact(i);
          const k = Float64Array.from(fitted.pivots, (pivot) => at(cross, pivot));
          // Pivots are omitted if the others explain all but a ten-thousandth of a point.
          expect(dot(k, 0, read.alpha, 0, k.length)).toBeCloseTo(mean, 2);
          expect(ownVariance(kernel) + quadratic(read, k)).toBeCloseTo(variance, 2);
        }
      },
    ),
    { numRuns: 30 },
  );
});

test("leaving a group out equals learning without it", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 3, max: 8 }),
      fc.integer({ min: 2, max: 10 }),
      fc.nat(1000),
      (workloads, pairs, seed) => {
        const made = example(workloads, pairs, seed);
        const { places, points, y, noise, groups } = made;
        const near = closeness(gaps(places, places, METRICS), kernel);
        const { leftOut } = fitPoints(points, near, kernel, y, noise, groups, y.length);
        for (const i of y.keys()) {
          const others = [...y.keys()].filter((j) => groups[j] !== groups[i]);
          expect(at(leftOut.mean, i)).toBeCloseTo(dense(made, others)(i).mean, 2);
        }
      },
    ),
    { numRuns: 30 },
  );
});

test("any points can be left out together", () => {
  const made = example(6, 12, 3);
  const { places, points, y, noise, groups } = made;
  const near = closeness(gaps(places, places, METRICS), kernel);
  const { without } = fitPoints(points, near, kernel, y, noise, groups, y.length);
  const out = [...y.keys()].filter((i) => at(points.target, i) < 2 || at(points.neighbour, i) < 2);
  expect(out.length).toBeGreaterThan(2);
  const exact = dense(
    made,
    [...y.keys()].filter((i) => !out.includes(i)),
  );
  const moments = without(out);
  out.forEach((i, k) => {
    expect(at(moments.mean, k)).toBeCloseTo(exact(i).mean, 2);
    expect(at(moments.variance, k)).toBeCloseTo(exact(i).variance, 2);
  });
});

test("with few pivots the approximation is close for similar workloads", () => {
  const made = example(5, 60, 4);
  const { places, points, y, noise, groups } = made;
  const near = closeness(gaps(places, places, METRICS), { reach: 3, own: 0 });
  const fitted = fitPoints(
    points,
    near,
    { ...kernel, reach: 3, own: 0, shareReach: 3 },
    y,
    noise,
    groups,
    40,
  );
  expect(fitted.pivots.length).toBeLessThanOrEqual(40);
  expect(new Set(fitted.pivots).size).toBe(fitted.pivots.length);
});
