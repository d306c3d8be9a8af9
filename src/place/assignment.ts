// Exact maximum-weight matching of a dense bipartite graph, by shortest augmenting paths (Jonker and Volgenant 1987;
// for rectangular problems as in Crouse 2016). At worst it takes O(n^3). It starts from the prices of an auction, which
// often finds the matching by itself.
//
// Invariant between phases, with cost = -weight: a row's partner is among its cheapest columns after the columns'
// prices are subtracted, and a column that ends without a row has price 0. So the matching is optimal as soon as every
// row has a partner. A pair without a positive weight costs nothing and counts as unmatched.

/** Row by row. A weight that is not above 0 (also NaN and -Infinity) means that the two must not be paired. */
export interface WeightMatrix {
  readonly rows: number;
  readonly columns: number;
  readonly weights: Float64Array | Float32Array;
}

/** Stands for the column of a row without one. */
export const UNMATCHED = -1;

/** The column of each row, or UNMATCHED, such that the sum of weights is the largest possible, up to rounding. */
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

// Indices are in range by construction. There is one function for each kind of array, because the engine makes slow
// code of a function that reads several kinds.
// function that reads several.
const at = (numbers: Float64Array, index: number): number => numbers[index] as number;
const who = (partners: Int32Array, index: number): number => partners[index] as number;
const weightAt = (weights: Weights, edge: number): number => weights[edge] as number;

/** A forbidden pair costs nothing, and counts as unmatched in the end. */
function costsOf(rows: number, columns: number, weights: Weights): Float64Array {
  const costs = new Float64Array(rows * columns);
  for (let edge = 0; edge < costs.length; edge++) {
    const weight = weightAt(weights, edge);
    if (weight > 0) costs[edge] = -weight;
  }
  return costs;
}

/** There are at most as many rows as columns. Every row gets a column. */
function solve(rows: number, columns: number, costs: Float64Array): Int32Array {
  const rowOf = new Int32Array(columns).fill(UNMATCHED);
  const columnOf = new Int32Array(rows).fill(UNMATCHED);
  const price = new Float64Array(columns);
  if (rows === columns && auctionOff(rows, costs, columnOf, price)) return columnOf;
  columnOf.fill(UNMATCHED);
  const state = { rows, columns, costs, rowOf, columnOf, price };
  const paddable = rows < columns && columns <= PADDING * rows;
  if (augment(state, reduce(state), paddable ? PATIENCE * columns : Number.POSITIVE_INFINITY))
    return columnOf;
  return solve(columns, columns, padToSquare(columns, costs)).subarray(0, rows);
}

interface State {
  readonly rows: number;
  readonly columns: number;
  readonly costs: Float64Array;
  readonly rowOf: Int32Array;
  readonly columnOf: Int32Array;
  readonly price: Float64Array;
}

/**
 * If some columns stay free, paths are usually few and short. If they need more scans of a row than this for each
 * column, and there are at most PADDING columns a row, empty rows are added to make the problem square, because a
 * square problem can start from an auction's prices.
 */
const PATIENCE = 20;
const PADDING = 2;

function padToSquare(columns: number, costs: Float64Array): Float64Array {
  const square = new Float64Array(columns * columns);
  square.set(costs);
  return square;
}

/** The first auction raises bids by this part of the largest weight, and each later one by SHRINK times less. */
const FIRST_RAISE = 0.2;
const SHRINK = 6;
const LAST_RAISE = 1e-10;
/** An auction is stopped after this many bids a row, on average. */
const BIDS = 200;

/**
 * With raises below this, a proof that the matching is optimal is tried. Often it succeeds long before the last
 * auction.
 */
const PROVABLE = 1e-5;
/**
 * Passes over all pairs in one attempt. It ends earlier if, after HOPEFUL passes, more than one row in FEW is wrong.
 */
const PASSES = 30;
const HOPEFUL = 2;
const FEW = 20;
/** Relative to the largest weight. Smaller differences are rounding. */
const ROUNDING = 2 ** -50;

/**
 * For square problems only: every column gets an owner in the end, so any prices may be used at the start. In an
 * auction of n columns to n rows, each row bids for the column from which it gains most. The auction is repeated with
 * smaller and smaller raises (epsilon scaling; Bertsekas 1988, "The auction algorithm"). Returns true if the last one's
 * matching is proven optimal. Otherwise its prices are close to the best ones, which keeps paths short; from other
 * prices, weights with structure take minutes.
 */
function auctionOff(
  n: number,
  costs: Float64Array,
  columnOf: Int32Array,
  price: Float64Array,
): boolean {
  let largest = 0;
  for (let edge = 0; edge < costs.length; edge++) largest = Math.max(largest, -at(costs, edge));
  if (largest === 0 || largest === Number.POSITIVE_INFINITY) return false;
  for (let raise = FIRST_RAISE; raise >= LAST_RAISE; raise /= SHRINK) {
    if (!auction({ n, costs, columnOf, price }, raise * largest)) return false;
    const proven = { n, costs, columnOf, price: price.slice() };
    if (raise < PROVABLE && prove(proven, ROUNDING * largest)) return true;
  }
  return false;
}

/** Raises prices of columns until every row has its cheapest one. It never ends if there is a better matching. */
function prove({ n, costs, columnOf, price }: Sale, rounding: number): boolean {
  for (let pass = 0; pass < PASSES; pass++) {
    let raised = 0;
    for (let row = 0; row < n; row++) {
      const base = row * n;
      const own = who(columnOf, row);
      let best = Number.POSITIVE_INFINITY;
      for (let column = 0; column < n; column++) {
        const cost = at(costs, base + column) - at(price, column);
        if (cost < best) best = cost;
      }
      const lost = at(costs, base + own) - at(price, own) - best;
      if (lost <= rounding) continue;
      price[own] = at(price, own) + lost;
      raised++;
    }
    if (raised === 0) return true;
    if (pass >= HOPEFUL && raised * FEW > n) return false;
  }
  return false;
}

interface Sale {
  readonly n: number;
  readonly costs: Float64Array;
  readonly columnOf: Int32Array;
  readonly price: Float64Array;
}

/** A bid lowers the price, because costs are negative weights. Returns false if it was stopped. */
function auction({ n, costs, columnOf, price }: Sale, raise: number): boolean {
  const rowOf = new Int32Array(n).fill(UNMATCHED);
  let bids = BIDS * n;
  for (let first = 0; first < n; first++)
    for (let row = first; row !== UNMATCHED; ) {
      if (bids-- === 0) return false;
      const base = row * n;
      let best = Number.POSITIVE_INFINITY;
      let second = Number.POSITIVE_INFINITY;
      let cheapest = 0;
      for (let column = 0; column < n; column++) {
        const cost = at(costs, base + column) - at(price, column);
        if (cost >= second) continue;
        if (cost < best) {
          second = best;
          best = cost;
          cheapest = column;
        } else second = cost;
      }
      const lead = n > 1 ? second - best : 0;
      price[cheapest] = at(price, cheapest) - lead - raise;
      const displaced = who(rowOf, cheapest);
      rowOf[cheapest] = row;
      columnOf[row] = cheapest;
      row = displaced;
    }
  return true;
}

/** How often a row, on average, may take a column from another before the paths decide. */
const TAKES = 8;

/**
 * Each row bids for its cheapest column. The column's price falls by its lead over the row's second choice. This is
 * cheap, and leaves few rows for the paths. Those are returned.
 */
function reduce({ rows, columns, costs, rowOf, columnOf, price }: State): number[] {
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
        const cost = at(costs, base + column) - at(price, column);
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
      // In a tie the runner-up is as good. Only a strict winner may take a column from another row.
      if (!strict && who(rowOf, cheapest) !== UNMATCHED && columns > 1) cheapest = runnerUp;
      const displaced = who(rowOf, cheapest);
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

/**
 * Finds a shortest path (Dijkstra over the columns) for each row without a column. Returns false after `scans` scans of
 * rows.
 */
function augment(state: State, free: readonly number[], scans: number): boolean {
  const { columns, costs, rowOf, columnOf, price } = state;
  const distance = new Float64Array(columns);
  const before = new Int32Array(columns);
  // Columns in this order: those already settled, those known to be nearest, the rest.
  const order = Int32Array.from({ length: columns }, (_, column) => column);
  let left = scans;
  for (const start of free) {
    if (left <= 0) return false;
    const base = start * columns;
    for (let column = 0; column < columns; column++) {
      distance[column] = at(costs, base + column) - at(price, column);
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
          const column = who(order, k);
          const here = at(distance, column);
          if (here > shortest) continue;
          if (here < shortest) {
            shortest = here;
            nearest = settled;
          }
          order[k] = who(order, nearest);
          order[nearest++] = column;
        }
        for (let k = settled; k < nearest; k++) {
          const column = who(order, k);
          if (who(rowOf, column) === UNMATCHED) {
            end = column;
            break;
          }
        }
        if (end !== UNMATCHED) break;
      }
      const through = who(order, settled++);
      const row = who(rowOf, through);
      const rowBase = row * columns;
      const offset = at(costs, rowBase + through) - at(price, through) - shortest;
      for (let k = nearest; k < columns; k++) {
        const column = who(order, k);
        const here = at(costs, rowBase + column) - at(price, column) - offset;
        if (here >= at(distance, column)) continue;
        distance[column] = here;
        before[column] = row;
        if (here > shortest) continue;
        if (who(rowOf, column) === UNMATCHED) {
          end = column;
          break;
        }
        order[k] = who(order, nearest);
        order[nearest++] = column;
      }
    }
    left -= settled + 1;
    for (let k = 0; k < closed; k++) {
      const column = who(order, k);
      price[column] = at(price, column) + at(distance, column) - shortest;
    }
    // Columns change owners along the path, back to the row where it started.
    for (let column = end; ; ) {
      const row = who(before, column);
      const next = who(columnOf, row);
      rowOf[column] = row;
      columnOf[row] = column;
      if (row === start) break;
      column = next;
    }
  }
  return true;
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
