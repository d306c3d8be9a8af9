import { at, who } from "./numbers.ts";

export const UNMATCHED = -1;

/** It returns undefined after `scans` scans of rows. */
export function findPaths(
  problem: Problem,
  price: Float64Array,
  scans: number,
): Int32Array | undefined {
  const rowOf = new Int32Array(problem.columns).fill(UNMATCHED);
  const columnOf = new Int32Array(problem.rows).fill(UNMATCHED);
  const state = { ...problem, rowOf, columnOf, price };
  return augment(state, reduce(state), scans) ? columnOf : undefined;
}

export interface Problem {
  readonly rows: number;
  readonly columns: number;
  readonly costs: Float64Array;
  readonly rounding: number;
}

interface State extends Problem {
  readonly rowOf: Int32Array;
  readonly columnOf: Int32Array;
  readonly price: Float64Array;
}

const TAKES = 8;

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
      // In a tie the runner-up is as good: only a strict winner may take another row's column.
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

function augment(state: State, free: readonly number[], scans: number): boolean {
  const { columns, costs, rounding, rowOf, columnOf, price } = state;
  const distance = new Float64Array(columns);
  const before = new Int32Array(columns);
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
          if (here > shortest + rounding) continue;
          if (here < shortest - rounding) {
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
      const offset = at(costs, rowBase + through) - at(price, through) - at(distance, through);
      for (let k = nearest; k < columns; k++) {
        const column = who(order, k);
        const here = at(costs, rowBase + column) - at(price, column) - offset;
        if (here >= at(distance, column)) continue;
        distance[column] = here;
        before[column] = row;
        if (here > shortest + rounding) continue;
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
