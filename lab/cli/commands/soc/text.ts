// A solution in a few words.
import { percent } from "#core";
import { makespanMs, OPTIMALITY_GAP, type Solution } from "#soc";

export const verdict = ({ optimal, gap, idlingGap }: Solution): string =>
  optimal
    ? `optimal${idlingGap > OPTIMALITY_GAP ? `; idling on purpose could gain ${upTo(idlingGap)} at most` : ""}`
    : `best so far, within ${upTo(gap)} of the best`;

/** Rounded up, because it is a bound. */
const upTo = (share: number): string => percent(Math.ceil(share * 1000 - 1e-6) / 1000);

export const title = (solution: Solution): string =>
  `${makespanMs(solution.timeline).toFixed(3)} ms, ${verdict(solution)}`;
