import { Matrix, SVD } from "ml-matrix";
import { meanOf, type Regressor } from "./regressor.ts";

export interface LinearState {
  readonly intercept: number;
  readonly weights: readonly number[];
}

const open =
  ({ intercept, weights }: LinearState) =>
  (row: Float64Array) =>
    weights.reduce((sum, weight, k) => sum + weight * (row[k] as number), intercept);

/** If there are many solutions (fewer rows than metrics, correlated ones), it is the shortest. */
export const linear: Regressor<LinearState> = {
  learn: (x, y) => solve(decompose(x, y), y, 0),
  open,
};

const PENALTIES = [0.01, 0.1, 0.3, 1, 3, 10, 30] as const;

export const ridge: Regressor<LinearState> = {
  learn: (x, y) => {
    const parts = decompose(x, y);
    const errors = PENALTIES.map((penalty) => leftOutError(parts, y, penalty));
    return solve(parts, y, PENALTIES[errors.indexOf(Math.min(...errors))] ?? 1);
  },
  open,
};

interface Decomposed {
  readonly centre: readonly number[];
  readonly u: Matrix;
  readonly s: readonly number[];
  readonly v: Matrix;
}

function decompose(x: readonly Float64Array[], y: Float64Array): Decomposed {
  const width = x[0]?.length ?? 0;
  const centre = Array.from({ length: width }, (_, k) =>
    meanOf(Float64Array.from(x, (row) => row[k] as number)),
  );
  const rows = x.map((row) => centre.map((middle, k) => (row[k] as number) - middle));
  // ml-matrix needs at least as many rows as columns. Rows of zeros change nothing.
  const tall = [
    ...rows,
    ...Array.from({ length: Math.max(0, width - y.length) }, () => centre.map(() => 0)),
  ];
  const svd = new SVD(new Matrix(tall));
  return { centre, u: svd.leftSingularVectors, s: svd.diagonal, v: svd.rightSingularVectors };
}

/** Directions weaker than this part of the strongest are rounding. */
const RANK = 1e-10;

/** It is 0 for directions without information. */
const shrinkage = (s: readonly number[], penalty: number): readonly number[] =>
  s.map((one) => (one > RANK * (s[0] ?? 0) ? (one * one) / (one * one + penalty) : 0));

function solve({ centre, u, s, v }: Decomposed, y: Float64Array, penalty: number): LinearState {
  const mean = meanOf(y);
  const along = shrinkage(s, penalty).map((share, j) =>
    share === 0 ? 0 : (share / (s[j] as number)) * projection(u, y, mean, j),
  );
  const weights = centre.map((_, k) => along.reduce((sum, one, j) => sum + one * v.get(k, j), 0));
  return {
    intercept: mean - weights.reduce((sum, weight, k) => sum + weight * (centre[k] as number), 0),
    weights,
  };
}

const projection = (u: Matrix, y: Float64Array, mean: number, j: number): number =>
  y.reduce((sum, value, i) => sum + u.get(i, j) * (value - mean), 0);

/** It is the mean squared error with each row left out, in closed form (PRESS). */
function leftOutError({ u, s }: Decomposed, y: Float64Array, penalty: number): number {
  const mean = meanOf(y);
  const shares = shrinkage(s, penalty);
  const along = shares.map((share, j) => share * projection(u, y, mean, j));
  return (
    y.reduce((sum, value, i) => {
      const fitted = mean + along.reduce((total, one, j) => total + one * u.get(i, j), 0);
      const lever =
        1 / y.length + shares.reduce((total, share, j) => total + share * u.get(i, j) ** 2, 0);
      return sum + ((value - fitted) / Math.max(1e-6, 1 - lever)) ** 2;
    }, 0) / y.length
  );
}
