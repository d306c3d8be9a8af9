// What a colocation is worth, and who says so beforehand.

import type { Random } from "#core";
import { type Colocation, soloOf } from "./colocations.ts";
import { pairRow } from "./encode.ts";
import type { Features, MetricName } from "./metrics.ts";
import type { Predictor } from "./predictor.ts";
import type { Regressor } from "./regress/regressor.ts";
import { neighboursOf } from "./sides.ts";
import { standardised, standardOf } from "./standard.ts";

/** KACE's throughput sum (section 4), or the sum of retained throughputs, in which no workload outshouts the others. */
export const goals = ["throughput", "retained"] as const;
export type Goal = (typeof goals)[number];

const weightOf = (features: Features, goal: Goal): number =>
  goal === "throughput" ? soloOf(features) : 1;

export const worthOf = ({ sides }: Colocation, goal: Goal): number =>
  sides.reduce((sum, { features, retained }) => sum + weightOf(features, goal) * retained, 0);

/** Says what a colocation will be worth to this target. Only `retained` of its sides is not looked at. */
export type Score = (row: Colocation, target: Features) => number;

/** From what each side is predicted to retain. */
export const predictedScore =
  (predictor: Predictor, goal: Goal): Score =>
  ({ sides }) =>
    sides.reduce((sum, side) => {
      const { others, shares } = neighboursOf(side, sides);
      const { retained } = predictor.predict(side.features, others, shares);
      return sum + weightOf(side.features, goal) * retained;
    }, 0);

/** As KACE does it: the worth itself is regressed on the metrics of the whole colocation. */
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
      x.map((row) => standardised(standard, row)),
      y,
      random,
    ),
  );
  return (row) => model(standardised(standard, rowOf(row)));
}

/** Rules that look at the candidates only (KACE, section 4): the largest score is chosen. */
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

/** Those beside one client with these features; a workload may be its own partner. */
function partnersOf(sides: Colocation["sides"], target: Features): readonly Features[] {
  const own = sides.findIndex(({ features }) => features === target);
  return sides.filter((_, i) => i !== own).map(({ features }) => features);
}

/** One list of partners for every target: the order in which `worth` falls. */
export const listScore = (worth: ReadonlyMap<Features, number>): Score =>
  byPartner((partner) => worth.get(partner) ?? Number.NEGATIVE_INFINITY);

/** Colocations that the mean of a partner's own is mixed with: a partner seen once is not yet a favourite. */
const PRIOR_ROWS = 1;

/** The list that measured rows suggest: partners by the mean worth of what they were part of. */
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
