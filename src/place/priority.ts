// Priorities among best-effort jobs are strict: whatever a level gains outweighs all that the levels below it
// could gain together. Done by adding to a weight one step a level, each step larger than the sum of all
// weights that any matching of the levels below could reach.
import { tooManyPriorities } from "./errors.ts";

/** Sums of weights up to here keep a millionth of the largest weight apart: 2^53 / 10^6. */
const LARGEST = 2 ** 53 / 1e6;

/**
 * What to add to the weight of a job of each level (a larger number goes first), in units of the largest weight;
 * `jobs`: how many at most are placed. Throws a UserError when doubles can't hold so many levels.
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
