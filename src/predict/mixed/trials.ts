// Rows are left out at random, as for measured workloads, and by families, as for new ones.
import { mulberry32, type Random, shuffle } from "#core";
import { type Colocation, keyOf } from "../data/colocations.ts";
import { folds } from "../data/folds.ts";
import type { Features, MetricName } from "../data/metrics.ts";
import { logMetrics, standardise, standardOf } from "../data/standard.ts";
import { familiesOf } from "../likeness/families.ts";
import type { Progress } from "../regress/regressor.ts";
import { neighboursOf } from "../sides/sides.ts";
import { candidateNames, candidates } from "./candidates.ts";

export interface Trial {
  readonly retained: number;
  /** They are in the order of `candidateNames`. */
  readonly answers: Float64Array;
  readonly neighbours: number;
  readonly measured: boolean;
}

/** More rows than this say little more and cost time. */
const MAX_ROWS = 240;
const FOLDS = 5;
/** A table of four has trials in which one row is left out. */
const MIN_ROWS = 3;

type States = Readonly<Record<string, unknown>>;

export function trialsOf(
  rows: readonly Colocation[],
  metrics: readonly MetricName[],
  seed: number,
  whole: States,
  told: Progress = () => {},
): readonly Trial[] {
  const random = mulberry32(seed);
  const used = shuffle(rows, random).slice(0, MAX_ROWS);
  const groups = [
    ...folds(used, Math.min(FOLDS, used.length), random),
    ...familyGroups(used, metrics),
  ];
  return groups.flatMap((held, done) => {
    const out = new Set(held);
    const kept = used.filter((row) => !out.has(row));
    const found = kept.length < MIN_ROWS ? [] : askEach(kept, held, metrics, random, whole);
    told((done + 1) / groups.length);
    return found;
  });
}

function familyGroups(
  rows: readonly Colocation[],
  metrics: readonly MetricName[],
): readonly (readonly Colocation[])[] {
  const known = new Map<string, Features>();
  for (const { sides } of rows)
    for (const { features } of sides) known.set(keyOf(features, metrics), features);
  const logs = [...known.values()].map((features) => logMetrics(features, metrics));
  const standard = standardOf(logs);
  const places = logs.map((row) => standardise(standard, row));
  const families = familiesOf(places.length, (a, b) => gapOf(places[a], places[b]));
  const familyOf = new Map([...known.keys()].map((key, i) => [key, families[i]]));
  return [...new Set(families)].map((family) =>
    rows.filter(({ sides }) =>
      sides.some(({ features }) => familyOf.get(keyOf(features, metrics)) === family),
    ),
  );
}

const gapOf = (a: ArrayLike<number> = [], b: ArrayLike<number> = []): number =>
  Array.from(a).reduce((sum, value, k) => sum + (value - (b[k] as number)) ** 2, 0);

function askEach(
  kept: readonly Colocation[],
  held: readonly Colocation[],
  metrics: readonly MetricName[],
  random: Random,
  whole: States,
): Trial[] {
  const answers = candidateNames.map((name) => {
    const { learn, open } = candidates[name];
    return open(learn(kept, metrics, random, whole[name]), metrics);
  });
  const met = new Set(
    kept.flatMap(({ sides }) => sides.map(({ features }) => keyOf(features, metrics))),
  );
  return held.flatMap(({ sides }) => {
    const measured = sides.every(({ features }) => met.has(keyOf(features, metrics)));
    return sides.map((side) => {
      const { others, shares } = neighboursOf(side, sides);
      return {
        retained: side.retained,
        answers: Float64Array.from(answers, (answer) => answer(side.features, others, shares)),
        neighbours: others.length,
        measured,
      };
    });
  });
}
