// The value of a colocation, and scores that predict it.

import type { Random } from "#core";
import {
  type Colocation,
  type Features,
  type MetricName,
  neighboursOf,
  type Predictor,
  pairRow,
  type Regressor,
  soloOf,
  standardise,
  standardOf,
} from "#predict";

/**
 * KACE's throughput sum (section 4), or the sum of retained throughputs, in which all workloads have the same weight.
 */
export const goals = ["throughput", "retained"] as const;
export type Goal = (typeof goals)[number];

const weightOf = (features: Features, goal: Goal): number =>
  goal === "throughput" ? soloOf(features) : 1;

export const worthOf = ({ sides }: Colocation, goal: Goal): number =>
  sides.reduce((sum, { features, retained }) => sum + weightOf(features, goal) * retained, 0);

/**
 * Predicts what a colocation is worth to this target. It may use everything in the row except `retained` of its sides.
 */
export type Score = (row: Colocation, target: Features) => number;

/** The worth computed from what each side is predicted to retain. */
export const predictedScore =
  (predictor: Predictor, goal: Goal): Score =>
  ({ sides }) =>
    sides.reduce((sum, side) => {
      const { others, shares } = neighboursOf(side, sides);
      const { retained } = predictor.predict(side.features, others, shares);
      return sum + weightOf(side.features, goal) * retained;
    }, 0);

/** KACE's method: a regression of the worth itself on the metrics of the whole colocation. */
export function regressedScore<State>(
  regressor: Regressor<State>,
  rows: readonly Colocation[],
  metrics: readonly MetricName[],
  goal: Goal,
  random: Random,
): Score {
  const rowOf = ({ sides }: Colocation) =>
    pairRow(
      sides.map(({ features }) => features),
      metrics,
    );
  const x = rows.map(rowOf);
  const standard = standardOf(x);
  const y = Float64Array.from(rows, (row) => worthOf(row, goal));
  const model = regressor.open(
    regressor.learn(
      x.map((row) => standardise(standard, row)),
      y,
      random,
    ),
  );
  return (row) => model(standardise(standard, rowOf(row)));
}

/** Rules that look only at the candidates (KACE, section 4). The largest score is chosen. */
export const rules = {
  /** The smallest memory footprint. */
  memcap: byPartner(({ memoryGB }) => -(memoryGB ?? Number.NaN)),
  /** The highest SM utilisation. */
  "sm%": byPartner(({ smBusy }) => smBusy ?? Number.NaN),
  /** The lowest memory utilisation. */
  "mem%": byPartner(({ memoryBusy }) => -(memoryBusy ?? Number.NaN)),
} as const satisfies Readonly<Record<string, Score>>;

function byPartner(of: (partner: Features) => number): Score {
  return ({ sides }, target) => {
    const partners = partnersOf(sides, target);
    return partners.reduce((sum, partner) => sum + of(partner), 0) / partners.length;
  };
}

/** The partners of a client with these features. A workload may be its own partner. */
function partnersOf(sides: Colocation["sides"], target: Features): readonly Features[] {
  const own = sides.findIndex(({ features }) => features === target);
  return sides.filter((_, i) => i !== own).map(({ features }) => features);
}

/** The same list of partners for every target, in descending order of `worth`. */
export const listScore = (worth: ReadonlyMap<Features, number>): Score =>
  byPartner((partner) => worth.get(partner) ?? Number.NEGATIVE_INFINITY);

/**
 * A partner's mean is mixed with the general mean as if it had so many more colocations. So one good colocation is not
 * enough.
 */
const PRIOR_ROWS = 1;

/** The worth of each partner: the mean worth of the measured colocations that it was part of. */
export function popularity(rows: readonly Colocation[], goal: Goal): ReadonlyMap<Features, number> {
  const worths = rows.map((row) => worthOf(row, goal));
  const mean = worths.reduce((sum, worth) => sum + worth, 0) / worths.length;
  const sums = new Map<Features, readonly [sum: number, rows: number]>();
  rows.forEach(({ sides }, i) => {
    for (const { features } of sides) {
      const [sum, count] = sums.get(features) ?? [PRIOR_ROWS * mean, PRIOR_ROWS];
      sums.set(features, [sum + (worths[i] ?? 0), count + 1]);
    }
  });
  return new Map([...sums].map(([features, [sum, count]]) => [features, sum / count]));
}
