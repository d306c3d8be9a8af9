// Jonker and Volgenant 1987, for rectangular problems as in Crouse 2016: shortest augmenting paths,
// from the prices of an auction; O(n^3) at worst. Invariant between phases, with cost = -weight: a
// row's partner is among its cheapest columns after prices are subtracted, and a column that ends
// without a row has price 0. So the matching is optimal as soon as every row has a partner.

import { solveSquare } from "./auction.ts";
import { at, who } from "./numbers.ts";
import { findPaths, type Problem, UNMATCHED } from "./paths.ts";

/** It is row by row. A weight that is not above 0 (also NaN and -Infinity) forbids the pair. */
export interface WeightMatrix {
  readonly rows: number;
  readonly columns: number;
  readonly weights: Float64Array | Float32Array;
}

/** Returns each row's column, or UNMATCHED. The sum of weights is the largest, up to rounding. */
export function assign({ rows, columns, weights }: WeightMatrix): Int32Array {
  if (weights.length !== rows * columns)
    throw new RangeError(`${weights.length} weights for ${rows} rows of ${columns} columns`);
  const partners =
    rows <= columns
      ? solve(rows, columns, costsOf(rows, columns, weights))
      : inverse(
          solve(columns, rows, transpose(rows, columns, costsOf(rows, columns, weights))),
          rows,
        );
  for (let row = 0; row < rows; row++) {
    const column = who(partners, row);
    if (column !== UNMATCHED && !(weightAt(weights, row * columns + column) > 0))
      partners[row] = UNMATCHED;
  }
  return partners;
}

export function totalWeight({ columns, weights }: WeightMatrix, partners: Int32Array): number {
  let sum = 0;
  for (let row = 0; row < partners.length; row++) {
    const column = who(partners, row);
    if (column !== UNMATCHED) sum += weightAt(weights, row * columns + column);
  }
  return sum;
}

type Weights = WeightMatrix["weights"];

const weightAt = (weights: Weights, edge: number): number => weights[edge] as number;

function costsOf(rows: number, columns: number, weights: Weights): Float64Array {
  const costs = new Float64Array(rows * columns);
  for (let edge = 0; edge < costs.length; edge++) {
    const weight = weightAt(weights, edge);
    if (weight > 0) costs[edge] = -weight;
  }
  return costs;
}

/** It is relative to the largest weight. Smaller differences are rounding. */
const ROUNDING = 2 ** -50;

function solve(rows: number, columns: number, costs: Float64Array): Int32Array {
  const largest = largestOf(costs);
  const problem = { rows, columns, costs, rounding: ROUNDING * largest };
  if (rows === columns) return solveSquare(problem, largest);
  const found = findPaths(problem, new Float64Array(columns), PATIENCE * columns);
  if (found) return found;
  const kept = wanted(problem);
  const size = kept.length;
  if (size > PADDING * rows)
    return (
      findPaths(problem, new Float64Array(columns), Number.POSITIVE_INFINITY) ?? new Int32Array()
    );
  return solve(size, size, padToSquare(problem, kept))
    .subarray(0, rows)
    .map((index) => who(kept, index));
}

/**
 * If paths need more scans of a row than this for each column, and at most PADDING columns a row
 * are wanted, empty rows make the problem square: it can start from an auction's prices then.
 */
const PATIENCE = 20;
const PADDING = 2;

/** A row needs only its n cheapest columns, for n rows: the others leave one of these free. */
function wanted({ rows, columns, costs }: Problem): Int32Array {
  const keeps = new Uint8Array(columns);
  for (let row = 0; row < rows; row++) {
    const own = costs.subarray(row * columns, (row + 1) * columns);
    const limit = at(own.slice().sort(), rows - 1);
    let left = rows;
    for (let column = 0; column < columns; column++)
      if (at(own, column) < limit) {
        keeps[column] = 1;
        left--;
      }
    for (let column = 0; left > 0 && column < columns; column++)
      if (at(own, column) === limit) {
        keeps[column] = 1;
        left--;
      }
  }
  return Int32Array.from(keeps.keys()).filter((column) => keeps[column] === 1);
}

function padToSquare({ rows, columns, costs }: Problem, kept: Int32Array): Float64Array {
  const size = kept.length;
  const square = new Float64Array(size * size);
  for (let row = 0; row < rows; row++)
    for (let index = 0; index < size; index++)
      square[row * size + index] = at(costs, row * columns + who(kept, index));
  return square;
}

function largestOf(costs: Float64Array): number {
  let largest = 0;
  for (let edge = 0; edge < costs.length; edge++) largest = Math.max(largest, -at(costs, edge));
  return largest;
}

function transpose(rows: number, columns: number, costs: Float64Array): Float64Array {
  const turned = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      turned[column * rows + row] = at(costs, row * columns + column);
  return turned;
}

function inverse(partners: Int32Array, size: number): Int32Array {
  const turned = new Int32Array(size).fill(UNMATCHED);
  partners.forEach((to, from) => {
    if (to !== UNMATCHED) turned[to] = from;
  });
  return turned;
}
