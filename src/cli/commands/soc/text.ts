// A solution in a few words.
import { percent } from "#core";
import { makespanMs, type Solution } from "#soc";

export const verdict = ({ optimal, gap }: Solution): string =>
  optimal ? "optimal" : `best so far, within ${percent(gap)} of the best`;

export const title = (solution: Solution): string =>
  `${makespanMs(solution.timeline).toFixed(3)} ms, ${verdict(solution)}`;
