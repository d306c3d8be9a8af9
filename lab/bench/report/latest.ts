// Which of the results of several days are of the latest code.
import type { BenchResult } from "../scenario/result.ts";
import { pairKey } from "./rows.ts";

/**
 * The same results, but of each arrangement of a pair only the cells of the last day on which it succeeded. So figures
 * of older code are not averaged with those of newer code. Baselines contain no code of ours, so they need not be
 * measured each time. Results without cells are left out.
 */
export function latest(results: readonly BenchResult[]): BenchResult[] {
  const lastDay = new Map<string, string>();
  for (const result of results)
    for (const cell of result.cells) {
      if (cell.status !== "ok") continue;
      const key = keyOf(result, cell.arrangement);
      const day = dayOf(result);
      if (day > (lastDay.get(key) ?? "")) lastDay.set(key, day);
    }
  return results
    .map((result) => ({
      ...result,
      cells: result.cells.filter(({ arrangement }) => {
        const last = lastDay.get(keyOf(result, arrangement));
        return last === undefined || last === dayOf(result);
      }),
    }))
    .filter(({ cells }) => cells.length > 0);
}

const keyOf = (result: BenchResult, arrangement: string) => `${pairKey(result)} ${arrangement}`;

/** The day in UTC of a result's ISO date. */
const dayOf = ({ date }: BenchResult) => date.slice(0, 10);
