// How well scores choose on measured colocations: KACE's protocol (section 4).
import { type Colocation, type Features, meanOf } from "#predict";
import { type Goal, type Score, worthOf } from "./scores.ts";

/** The result for one target. */
export interface Choice {
  readonly target: Features;
  /** The worth of the chosen colocation, of the best measured one (the oracle's), and of all on average (random). */
  readonly chosen: number;
  readonly best: number;
  readonly mean: number;
}

/**
 * Each target that has neighbours in `rows` takes the colocation with the highest score. If several are equal, it takes
 * the first.
 */
export function choose(rows: readonly Colocation[], score: Score, goal: Goal): readonly Choice[] {
  return targetsOf(rows).map((target) => {
    const open = rows.filter(({ sides }) => sides.some(({ features }) => features === target));
    const worths = open.map((row) => worthOf(row, goal));
    const scores = open.map((row) => score(row, target));
    const at = scores.indexOf(Math.max(...scores));
    return {
      target,
      chosen: worths[at] ?? Number.NaN,
      best: Math.max(...worths),
      mean: meanOf(worths),
    };
  });
}

export const targetsOf = (rows: readonly Colocation[]): readonly Features[] => [
  ...new Set(rows.flatMap(({ sides }) => sides.map(({ features }) => features))),
];

/** The worth of the choices as a fraction of the oracle's; mean over the targets. */
export const ofOracle = (choices: readonly Choice[]): number =>
  meanOf(choices.map(({ chosen, best }) => chosen / best));

/** The worth that the choices lose against the oracle's; mean over the targets. */
export const regret = (choices: readonly Choice[]): number =>
  meanOf(choices.map(({ chosen, best }) => best - chosen));

/** For each target, the best of several choices. No method could know beforehand which one that is. */
export const bestOf = (all: readonly (readonly Choice[])[]): readonly Choice[] =>
  (all[0] ?? []).map((one, i) => ({
    ...one,
    chosen: Math.max(...all.map((choices) => choices[i]?.chosen ?? Number.NEGATIVE_INFINITY)),
  }));

/** R2 and root mean square error of scores as predictions of the worth. */
export function fitOf(rows: readonly Colocation[], score: Score, goal: Goal) {
  const worths = rows.map((row) => worthOf(row, goal));
  const mean = meanOf(worths);
  const errors = rows.map((row, i) => {
    const target = row.sides[0]?.features ?? {};
    return score(row, target) - (worths[i] ?? Number.NaN);
  });
  const square = meanOf(errors.map((error) => error * error));
  return {
    r2: 1 - square / meanOf(worths.map((worth) => (worth - mean) ** 2)),
    rmse: Math.sqrt(square),
  };
}
