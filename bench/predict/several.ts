// How colocations of three and four are predicted: composed of pairs, and by learners of rows of any size, on KACE's
// measurements (sets.ts).

import { mulberry32, shuffle } from "#core";
import { choose, ofOracle, type Score } from "#evaluation";
import {
  accuracyOf,
  type Colocation,
  type LearnerName,
  learners,
  meanOf,
  together,
} from "#predict";
import { kaceNames } from "#profile";
import { BUSY_LINE, busyLine } from "./busy-line.ts";
import { isWanted, spreadOf, trainingOf } from "./contestants.ts";
import { modelOf, type Named } from "./kace.ts";
import { kaceBySize } from "./sets.ts";

const compared = ["mixed", "ours", "forest", "ridge"] as const satisfies LearnerName[];
const FOREST_TESTS = 10;
const SPLITS = 3;
const TRAINING = 0.2;

export function several(say: (line: string) => void) {
  const [pairs = [], triples = [], quads = []] = kaceBySize();
  const part = (rows: readonly Named[], seed: number) => {
    const mixed = shuffle(rows, mulberry32(seed));
    const size = Math.round(TRAINING * mixed.length);
    return [mixed.slice(0, size), mixed.slice(size)] as const;
  };
  const always = (learned: readonly Named[], held: readonly Named[]) => () =>
    [learned, held] as const;
  const cases: Readonly<
    Record<string, (seed: number) => readonly [readonly Named[], readonly Named[]]>
  > = {
    "triples, of pairs": always(pairs, triples),
    "quads, of pairs": always(pairs, quads),
    "quads, of pairs and triples": always([...pairs, ...triples], quads),
    "triples, of 20 % of them": (seed) => part(triples, seed),
    "quads, of 20 % of them": (seed) => part(quads, seed),
    "quads, of pairs, triples and 20 % of them": (seed) => {
      const [learned, held] = part(quads, seed);
      return [[...pairs, ...triples, ...learned], held];
    },
  };
  return {
    rows: { pairs: pairs.length, triples: triples.length, quads: quads.length },
    splits: SPLITS,
    forestTests: FOREST_TESTS,
    composedOfMeasuredPairs: {
      triples: composedOf(pairs, triples),
      quads: composedOf(pairs, quads),
    },
    choices: { triples: boundsOf(pairs, triples), quads: boundsOf(pairs, quads) },
    learned: Object.fromEntries(
      Object.entries(cases).flatMap(([title, split]) => {
        if (split(0).some((rows) => rows.length === 0)) return [];
        const isRandom = split(0)[1] !== split(1)[1];
        const seeds = Array.from({ length: isRandom ? SPLITS : 1 }, (_, seed) => seed);
        const results = compared.filter(isWanted).map((name) => {
          const runs = seeds.map((seed) => {
            const [learned, held] = split(seed);
            const training = { ...trainingOf(seed), forestTests: FOREST_TESTS };
            const state = learners[name].train(learned, kaceNames, training);
            return accuracyOf(held, learners[name].open(state, kaceNames));
          });
          return [
            name,
            {
              error: spreadOf(runs.map(({ error }) => error)),
              covered: spreadOf(runs.map(({ covered }) => covered)),
            },
          ] as const;
        });
        const errors = seeds.flatMap((seed) => {
          const [learned, held] = split(seed);
          const line = busyLine(learned);
          return line ? [accuracyOf(held, line).error] : [];
        });
        say(title);
        return [
          [title, { ...Object.fromEntries(results), [BUSY_LINE]: { error: spreadOf(errors) } }],
        ];
      }),
    ),
  };
}

/** Retained throughput of each workload beside each other one, by "NAME beside NAME". */
function measuredIn(pairs: readonly Named[]): ReadonlyMap<string, number> {
  const measured = new Map<string, number>();
  for (const { names, sides } of pairs)
    sides.forEach(({ retained }, i) => {
      measured.set(`${names[i]} beside ${names[1 - i]}`, retained);
    });
  return measured;
}

/** The side's retained throughput beside each of the others alone; NaN for pairs that were not measured. */
const besideEach = (row: Named, i: number, measured: ReadonlyMap<string, number>) =>
  row.names.flatMap((name, k) =>
    k === i ? [] : [measured.get(`${row.names[i]} beside ${name}`) ?? Number.NaN],
  );

const ERRORS = [0.02, 0.04, 0.06, 0.08, 0.1];
const TRIALS = 200;

/**
 * Upper bounds of any predictor against the oracle, for targets of each model among the rows that it is in: with the
 * true pairs (where all were measured), composed by the two simple rules; with the true values and a random error of
 * each side; and by chance.
 */
function boundsOf(pairs: readonly Named[], rows: readonly Named[]) {
  if (rows.length === 0) return { choices: 0 };
  const measured = measuredIn(pairs);
  const complete = rows.filter((row) =>
    row.names.every((_, i) => !besideEach(row, i, measured).some(Number.isNaN)),
  );
  const composed = (exponent: number) =>
    reachedBy(complete, (row) =>
      worth(row, (i) => together(besideEach(row, i, measured), { exponent, crowding: [1] })),
    );
  const random = mulberry32(0);
  const overTrials = (worthOf: () => (row: Named) => number) =>
    spreadOf(Array.from({ length: TRIALS }, () => reachedBy(rows, worthOf()).mean));
  return {
    choices: reachedBy(rows, () => 0).choices,
    truePairs: { rows: complete.length, multiplied: composed(0), added: composed(1) },
    byError: ERRORS.map((error) => ({
      error,
      // The mean absolute error of a uniform one is half of its limit.
      ofOracle: overTrials(() =>
        remembered((row) =>
          worth(row, (i) => (row.sides[i]?.retained ?? 0) + error * 2 * (2 * random() - 1)),
        ),
      ),
    })),
    byChance: overTrials(() => remembered(() => random())),
  };
}

function remembered(worthOf: (row: Named) => number): (row: Named) => number {
  const known = new Map<Named, number>();
  return (row) => {
    const value = known.get(row) ?? worthOf(row);
    known.set(row, value);
    return value;
  };
}

/** The sum of throughputs, if side i retains `retained(i)`. */
const worth = (row: Named, retained: (i: number) => number): number =>
  row.sides.reduce(
    (sum, { features }, i) => sum + (features.soloThroughput ?? Number.NaN) * retained(i),
    0,
  );

/** The mean over the models of the fraction of the oracle's worth. */
function reachedBy(rows: readonly Named[], worthOf: (row: Named) => number) {
  const models = [...new Set(rows.flatMap(({ names }) => names.map(modelOf)))];
  let choices = 0;
  const reached = models.map((model) => {
    const held = rows.filter(({ names }) => names.some((name) => modelOf(name) === model));
    const own = new Set(
      held.flatMap(({ names, sides }) =>
        sides.filter((_, i) => modelOf(names[i] ?? "") === model).map(({ features }) => features),
      ),
    );
    const score: Score = (row) => worthOf(row as Named);
    const made = choose(held, score, "throughput").filter(({ target }) => own.has(target));
    choices += made.length;
    return ofOracle(made);
  });
  const some = reached.filter((one) => !Number.isNaN(one));
  return { mean: Number(meanOf(some).toFixed(4)), least: Math.min(...some), choices };
}

/** Errors of the two simple rules, where all pairs of a target were measured. */
function composedOf(pairs: readonly Named[], rows: readonly Named[]) {
  const measured = measuredIn(pairs);
  const sides = rows.flatMap((row) =>
    row.sides.flatMap(({ retained }, i) => {
      const beside = besideEach(row, i, measured);
      return beside.some(Number.isNaN) ? [] : [{ retained, beside }];
    }),
  );
  const by = (exponent: number) => {
    const errors = sides.map(
      ({ retained, beside }) => together(beside, { exponent, crowding: [1] }) - retained,
    );
    return {
      bias: Number(meanOf(errors).toFixed(4)),
      error: Number(meanOf(errors.map(Math.abs)).toFixed(4)),
    };
  };
  return { sides: sides.length, multiplied: by(0), added: by(1), mean: meanErrorOf(rows) };
}

function meanErrorOf(rows: readonly Colocation[]): number {
  const all = rows.flatMap(({ sides }) => sides.map(({ retained }) => retained));
  return Number(meanOf(all.map((one) => Math.abs(one - meanOf(all)))).toFixed(4));
}
