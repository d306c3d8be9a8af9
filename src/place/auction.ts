// Square problems by auctions (Bertsekas 1988, "The auction algorithm") whose raises shrink. Every column gets an owner in
// the end, so any prices may be used at the start.

import { at, who } from "./numbers.ts";
import { findPaths, type Problem, UNMATCHED } from "./paths.ts";

/**
 * Starts from the prices of auctions. Ties end at the first trial of paths; weights that differ by very little need
 * the later auctions.
 */
export function solveSquare(problem: Problem, largest: number): Int32Array {
  const { rows: n, costs, rounding } = problem;
  const columnOf = new Int32Array(n);
  const price = new Float64Array(n);
  let bids = 0;
  if (largest > 0 && largest < Number.POSITIVE_INFINITY)
    for (let raise = FIRST_RAISE; raise >= LAST_RAISE; raise /= SHRINK) {
      const made = auction({ n, costs, columnOf, price }, raise * largest);
      if (made === undefined) break;
      bids += made;
      if (raise >= PROVABLE) continue;
      if (prove({ n, costs, columnOf, price: price.slice() }, rounding)) return columnOf;
      if (raise * SHRINK < PROVABLE) continue;
      const found = findPaths(problem, level(n, costs, price), bids / SCAN_IN_BIDS);
      if (found) return found;
    }
  const found = findPaths(problem, level(n, costs, price), Number.POSITIVE_INFINITY);
  return found ?? columnOf;
}

/**
 * In an auction of n columns to n rows, each row bids for the column from which it gains most. The auction is repeated
 * with smaller and smaller raises (epsilon scaling). Its prices are close to the best ones, which keeps paths short; from
 * other prices, weights with structure take minutes.
 *
 * The first auction raises bids by this part of the largest weight, and each later one by SHRINK times less. The
 * last one tells weights apart that differ by little more than rounding.
 */
const FIRST_RAISE = 0.2;
const SHRINK = 6;
const LAST_RAISE = 1e-14;

/** An auction is stopped after this many bids a row, on average. */
const BIDS = 200;

/** The trial of paths may take as long as all bids before. A scan of a row by a path takes as long as so many bids. */
const SCAN_IN_BIDS = 3;

/**
 * With raises below this, a proof that the matching is optimal is tried. Often it succeeds long before the last
 * auction.
 */
const PROVABLE = 1e-5;
/**
 * Passes over all pairs in one attempt. It ends earlier if, after HOPEFUL passes, more than one row in MIN_BIDDERS is wrong.
 */
const PASSES = 30;
const HOPEFUL = 2;
const MIN_BIDDERS = 20;

/**
 * Raises every price as far as no row prefers the column to its cheapest one. Then each column is the cheapest of some
 * row. Without it, weights of the form row + column, where all matchings are equally good, take n^3: each path visits all
 * columns whose prices the auction left a little too low.
 */
function level(n: number, costs: Float64Array, price: Float64Array): Float64Array {
  const raised = new Float64Array(n).fill(Number.POSITIVE_INFINITY);
  for (let row = 0; row < n; row++) {
    const base = row * n;
    let best = Number.POSITIVE_INFINITY;
    for (let column = 0; column < n; column++)
      best = Math.min(best, at(costs, base + column) - at(price, column));
    for (let column = 0; column < n; column++)
      raised[column] = Math.min(at(raised, column), at(costs, base + column) - best);
  }
  return raised;
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
    if (pass >= HOPEFUL && raised * MIN_BIDDERS > n) return false;
  }
  return false;
}

interface Sale {
  readonly n: number;
  readonly costs: Float64Array;
  readonly columnOf: Int32Array;
  readonly price: Float64Array;
}

/**
 * A bid lowers the price, because costs are negative weights. Returns the number of bids, or undefined if it was
 * stopped.
 */
function auction({ n, costs, columnOf, price }: Sale, raise: number): number | undefined {
  const rowOf = new Int32Array(n).fill(UNMATCHED);
  let bids = BIDS * n;
  for (let first = 0; first < n; first++)
    for (let row = first; row !== UNMATCHED; ) {
      if (bids-- === 0) return undefined;
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
  return BIDS * n - bids;
}
