// Who goes where, exactly: maximum-weight matching of a dense bipartite graph, by shortest augmenting paths
// (Jonker and Volgenant 1987, for rectangular problems as in Crouse 2016), O(n^3) at worst.
//
// Invariant between phases: with cost = -weight, every row's partner is among its cheapest columns after the
// columns' prices are taken off, and a column that nobody has in the end has price 0. So the whole is optimal the
// moment that every row has a partner. A pair without a positive weight costs nothing and counts as none.

/** Row by row; a weight that is not above 0 (NaN and -Infinity too) means that the two may not be paired. */
export interface WeightMatrix {
  readonly rows: number;
  readonly columns: number;
  readonly weights: Float64Array | Float32Array;
}

/** A row's column, or this. */
export const UNMATCHED = -1;

/** The column of each row, or UNMATCHED, so that the sum of weights is as large as can be. */
export function assign({ rows, columns, weights }: WeightMatrix): Int32Array {
  if (weights.length !== rows * columns)
    throw new RangeError(`${weights.length} weights for ${rows} rows of ${columns} columns`);
  const partners =
    rows <= columns
      ? solve(rows, columns, weights)
      : inverse(solve(columns, rows, transposed(rows, columns, weights)), rows);
  for (let row = 0; row < rows; row++) {
    const column = at(partners, row);
    if (column !== UNMATCHED && !(at(weights, row * columns + column) > 0))
      partners[row] = UNMATCHED;
  }
  return partners;
}

export function totalWeight({ columns, weights }: WeightMatrix, partners: Int32Array): number {
  let sum = 0;
  for (let row = 0; row < partners.length; row++) {
    const column = at(partners, row);
    if (column !== UNMATCHED) sum += at(weights, row * columns + column);
  }
  return sum;
}

type Numbers = Float64Array | Float32Array | Int32Array;

// Indices are in range by construction.
const at = (numbers: Numbers, index: number): number => numbers[index] as number;

/** Rows are at most columns; every row gets a column. */
function solve(rows: number, columns: number, weights: Float64Array | Float32Array): Int32Array {
  const rowOf = new Int32Array(columns).fill(UNMATCHED);
  const columnOf = new Int32Array(rows).fill(UNMATCHED);
  const price = new Float64Array(columns);
  // When every column will be taken, prices may start at each column's own best offer: far fewer paths are left.
  if (rows === columns)
    for (let edge = 0; edge < weights.length; edge++) {
      const column = edge % columns;
      price[column] = Math.min(at(price, column), at(weights, edge) > 0 ? -at(weights, edge) : 0);
    }
  const free = reduce({ rows, columns, weights, rowOf, columnOf, price });
  augment({ rows, columns, weights, rowOf, columnOf, price }, free);
  return columnOf;
}

interface State {
  readonly rows: number;
  readonly columns: number;
  readonly weights: Float64Array | Float32Array;
  readonly rowOf: Int32Array;
  readonly columnOf: Int32Array;
  readonly price: Float64Array;
}

/** How often, per row, a row may take a column from another before the paths have to settle it. */
const TAKES = 8;

/**
 * Rows bid for their cheapest column: a column's price falls by the lead it has over the row's second choice.
 * Cheap, and leaves few rows, which are returned, for the paths.
 */
function reduce({ rows, columns, weights, rowOf, columnOf, price }: State): number[] {
  const left: number[] = [];
  let takes = TAKES * rows;
  for (let first = 0; first < rows; first++) {
    let row = first;
    for (;;) {
      const base = row * columns;
      let best = Number.POSITIVE_INFINITY;
      let second = Number.POSITIVE_INFINITY;
      let cheapest = 0;
      let runnerUp = 0;
      for (let column = 0; column < columns; column++) {
        const weight = at(weights, base + column);
        const cost = (weight > 0 ? -weight : 0) - at(price, column);
        if (cost >= second) continue;
        if (cost < best) {
          second = best;
          runnerUp = cheapest;
          best = cost;
          cheapest = column;
        } else {
          second = cost;
          runnerUp = column;
        }
      }
      const strict = second > best;
      // A tie may go to the runner-up as well, and only a strict winner may displace somebody.
      if (!strict && at(rowOf, cheapest) !== UNMATCHED && columns > 1) cheapest = runnerUp;
      const displaced = at(rowOf, cheapest);
      if (displaced !== UNMATCHED && (!strict || takes-- <= 0)) {
        left.push(row);
        break;
      }
      if (strict && Number.isFinite(second))
        price[cheapest] = at(price, cheapest) - (second - best);
      rowOf[cheapest] = row;
      columnOf[row] = cheapest;
      if (displaced === UNMATCHED) break;
      columnOf[displaced] = UNMATCHED;
      row = displaced;
    }
  }
  return left;
}

/** One shortest path (Dijkstra over the columns) for each row that has no column yet. */
function augment(state: State, free: readonly number[]): void {
  const { columns, weights, rowOf, columnOf, price } = state;
  const distance = new Float64Array(columns);
  const before = new Int32Array(columns);
  // Columns in the order they were settled, then those known to be nearest, then the rest.
  const order = Int32Array.from({ length: columns }, (_, column) => column);
  for (const start of free) {
    const base = start * columns;
    for (let column = 0; column < columns; column++) {
      const weight = at(weights, base + column);
      distance[column] = (weight > 0 ? -weight : 0) - at(price, column);
    }
    before.fill(start);
    let settled = 0;
    let nearest = 0;
    let shortest = Number.NEGATIVE_INFINITY;
    let end = UNMATCHED;
    let closed = 0; // columns settled at a distance below `shortest`
    while (end === UNMATCHED) {
      if (settled === nearest) {
        closed = settled;
        shortest = Number.POSITIVE_INFINITY;
        for (let k = nearest; k < columns; k++) {
          const column = at(order, k);
          const here = at(distance, column);
          if (here > shortest) continue;
          if (here < shortest) {
            shortest = here;
            nearest = settled;
          }
          order[k] = at(order, nearest);
          order[nearest++] = column;
        }
        for (let k = settled; k < nearest; k++) {
          const column = at(order, k);
          if (at(rowOf, column) === UNMATCHED) {
            end = column;
            break;
          }
        }
        if (end !== UNMATCHED) break;
      }
      const through = at(order, settled++);
      const row = at(rowOf, through);
      const rowBase = row * columns;
      const heldWeight = at(weights, rowBase + through);
      const offset = (heldWeight > 0 ? -heldWeight : 0) - at(price, through) - shortest;
      for (let k = nearest; k < columns; k++) {
        const column = at(order, k);
        const weight = at(weights, rowBase + column);
        const here = (weight > 0 ? -weight : 0) - at(price, column) - offset;
        if (here >= at(distance, column)) continue;
        distance[column] = here;
        before[column] = row;
        if (here > shortest) continue;
        if (at(rowOf, column) === UNMATCHED) {
          end = column;
          break;
        }
        order[k] = at(order, nearest);
        order[nearest++] = column;
      }
    }
    for (let k = 0; k < closed; k++) {
      const column = at(order, k);
      price[column] = at(price, column) + at(distance, column) - shortest;
    }
    // Columns change hands along the path, back to the row it started from.
    for (let column = end; ; ) {
      const row = at(before, column);
      const next = at(columnOf, row);
      rowOf[column] = row;
      columnOf[row] = column;
      if (row === start) break;
      column = next;
    }
  }
}

function transposed(rows: number, columns: number, weights: Float64Array | Float32Array) {
  const turned = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      turned[column * rows + row] = at(weights, row * columns + column);
  return turned;
}

function inverse(partners: Int32Array, size: number): Int32Array {
  const turned = new Int32Array(size).fill(UNMATCHED);
  partners.forEach((to, from) => {
    if (to !== UNMATCHED) turned[to] = from;
  });
  return turned;
}
