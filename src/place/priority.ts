// Priorities among best-effort jobs are strict: any gain of a level outweighs all that the levels below it could gain
// together. A bonus is added to each weight, one step a level. Each step is larger than the sum of all weights that a
// matching of the lower levels could reach.
import { tooManyPriorities } from "./errors.ts";

/** The largest sum of weights at which a millionth of the largest weight is still distinguished: 2^53 / 10^6. */
const LARGEST = 2 ** 53 / 1e6;

/**
 * The bonus of a job of each level, in units of the largest weight. A larger level goes first. `jobs`: the most jobs
 * that are placed. Throws a UserError if doubles cannot represent so many levels.
 */
export function priorityBonuses(
  levels: readonly number[],
  jobs: number,
): ReadonlyMap<number, number> {
  const distinct = [...new Set(levels)].sort((a, b) => a - b);
  const bonuses = new Map<number, number>();
  let bonus = 0;
  for (const [rank, level] of distinct.entries()) {
    if (bonus * jobs > LARGEST) throw tooManyPriorities(distinct.length, jobs, rank);
    bonuses.set(level, bonus);
    bonus = (bonus + 1) * (jobs + 1);
  }
  return bonuses;
}
