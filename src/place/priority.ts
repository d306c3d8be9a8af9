// Any gain of a level outweighs all that the levels below could gain together: each step is larger
// than the sum of all weights that a matching of the lower levels could reach.
import { tooManyPriorities } from "./errors.ts";

/** At this sum a millionth of the largest weight is still distinguished. */
const LARGEST = 2 ** 53 / 1e6;

/** Units are the largest weight. Throws a UserError if doubles cannot represent so many levels. */
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
