// Bertsekas 1988, "The auction algorithm": raises shrink, and any prices may be used at the start.

import { at, who } from "./numbers.ts";
import { findPaths, type Problem, UNMATCHED } from "./paths.ts";

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
 * Each row bids for the column from which it gains most, again with smaller raises (epsilon
 * scaling). Prices close to the best ones keep paths short: from others, structured weights take
 * minutes. The last raise tells weights apart that differ by little more than rounding.
 */
const FIRST_RAISE = 0.2;
const SHRINK = 6;
const LAST_RAISE = 1e-14;

/** An auction is stopped after this many bids a row, on average. */
const BIDS = 200;

/** The trial of paths may take as long as all bids before; a scan of a row takes so many bids. */
const SCAN_IN_BIDS = 3;

/** Below this, a proof of optimality is tried, which often succeeds before the last auction. */
const PROVABLE = 1e-5;
const PASSES = 30;
const HOPEFUL = 2;
const MIN_BIDDERS = 20;

/**
 * Each column becomes the cheapest of some row. Otherwise weights of the form row + column, where
 * all matchings are equally good, take n^3: each path visits all columns priced too low.
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

/** A bid lowers the price, as costs are negative. Returns the bids, or undefined if stopped. */
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
