// KACE's protocol (SoCC'24, section 4): each target takes the partner with the highest predicted sum, judged by the
// fraction of the oracle's; two variants (all measured partners; held-out rows only), 50 random splits and its own.

import { mulberry32, shuffle } from "#core";
import {
  bestOf,
  type Choice,
  choose,
  fitOf,
  type Goal,
  ofOracle,
  regret,
  type Score,
} from "#evaluation";
import { accuracyOf, learners } from "#predict";
import { kaceNames } from "#profile";
import {
  bestList,
  cpuMs,
  medianOf,
  remembered,
  type Spread,
  spreadOf,
  trained,
  unlearned,
} from "./contestants.ts";
import { isConsistent, kacePairs, kaceTrainingRows, type Named } from "./kace.ts";

const SPLITS = 50;
const TRAINING = 0.2;

/** KACE's throughput sum over the 181 rows. */
export const pairs = (say: (line: string) => void) => {
  const rows = kacePairs();
  const own = kaceTrainingRows(rows);
  return {
    ...compared(rows, "throughput", say),
    ownSplit: onSplit(rows, [...own], "throughput"),
    intervals: intervals(rows.filter(isConsistent)),
  };
};

/** Retained throughputs over the 102 rows whose solo throughputs fit. */
export const retained = (say: (line: string) => void) =>
  compared(kacePairs().filter(isConsistent), "retained", say);

interface Tally {
  readonly all: number[];
  readonly heldOut: number[];
  readonly regretAll: number[];
  readonly regretHeldOut: number[];
  readonly r2: number[];
  readonly rmse: number[];
  readonly trainingMs: number[];
  readonly perTarget: Map<string, number[]>;
}

function compared(rows: readonly Named[], goal: Goal, say: (line: string) => void) {
  const tallies = new Map<string, Tally>();
  const hindsight = remembered(bestList(rows, goal), []);
  for (let seed = 0; seed < SPLITS; seed++) {
    const mixed = shuffle(rows, mulberry32(seed));
    const size = Math.round(TRAINING * rows.length);
    const [learned, held] = [mixed.slice(0, size), mixed.slice(size)];
    for (const [name, train] of Object.entries(trained)) {
      const [score, ms] = cpuMs(() => train(learned, goal, seed));
      const known = name === "list of partners" ? score : remembered(score, rows);
      const tally = count(tallies, name, rows, held, known, goal);
      tally.trainingMs.push(ms);
      if (name === "list of partners") continue;
      const { r2, rmse } = fitOf(held, known, goal);
      tally.r2.push(r2);
      tally.rmse.push(rmse);
    }
    for (const [name, score] of Object.entries(unlearned))
      count(tallies, name, rows, held, score, goal);
    countChoices(
      tallyOf(tallies, "best of the rules"),
      bestOf(Object.values(unlearned).map((score) => choose(rows, score, goal))),
      bestOf(Object.values(unlearned).map((score) => choose(held, score, goal))),
      rows,
    );
    count(tallies, "best list in hindsight", rows, held, hindsight, goal);
    countChoices(
      tallyOf(tallies, "random"),
      choose(rows, () => 0, goal).map((one) => ({ ...one, chosen: one.mean })),
      choose(held, () => 0, goal).map((one) => ({ ...one, chosen: one.mean })),
      rows,
    );
    if (seed % 10 === 9) say(`${seed + 1} of ${SPLITS} splits`);
  }
  return {
    goal,
    rows: rows.length,
    splits: SPLITS,
    trainingPart: TRAINING,
    results: Object.fromEntries([...tallies].map(([name, tally]) => [name, summary(tally)])),
    wins: wins(tallies),
  };
}

function tallyOf(tallies: Map<string, Tally>, name: string): Tally {
  const known = tallies.get(name);
  if (known) return known;
  const made: Tally = {
    all: [],
    heldOut: [],
    regretAll: [],
    regretHeldOut: [],
    r2: [],
    rmse: [],
    trainingMs: [],
    perTarget: new Map(),
  };
  tallies.set(name, made);
  return made;
}

function count(
  tallies: Map<string, Tally>,
  name: string,
  rows: readonly Named[],
  held: readonly Named[],
  score: Score,
  goal: Goal,
): Tally {
  const tally = tallyOf(tallies, name);
  countChoices(tally, choose(rows, score, goal), choose(held, score, goal), rows);
  return tally;
}

function countChoices(
  tally: Tally,
  all: readonly Choice[],
  heldOut: readonly Choice[],
  rows: readonly Named[],
): void {
  tally.all.push(ofOracle(all));
  tally.heldOut.push(ofOracle(heldOut));
  tally.regretAll.push(regret(all));
  tally.regretHeldOut.push(regret(heldOut));
  for (const choice of all) {
    const name = nameOf(rows, choice);
    tally.perTarget.set(name, [...(tally.perTarget.get(name) ?? []), choice.chosen / choice.best]);
  }
}

function nameOf(rows: readonly Named[], { target }: Choice): string {
  for (const { names, sides } of rows)
    for (const [i, side] of sides.entries()) if (side.features === target) return names[i] ?? "";
  return "";
}

const summary = (tally: Tally): Readonly<Record<string, Spread | number>> => ({
  all: spreadOf(tally.all),
  heldOut: spreadOf(tally.heldOut),
  regretAll: spreadOf(tally.regretAll),
  regretHeldOut: spreadOf(tally.regretHeldOut),
  ...(tally.r2.length > 0 ? { r2: spreadOf(tally.r2), rmse: spreadOf(tally.rmse) } : {}),
  ...(tally.trainingMs.length > 0
    ? { trainingCpuMs: Number(medianOf(tally.trainingMs).toPrecision(3)) }
    : {}),
});

/** KACE's Figure 5 has three policies: here ours, KACE's linear model, Xu et al.'s forest and MEMCAP. */
function wins(tallies: ReadonlyMap<string, Tally>) {
  const baselines = ["ours", "linear", "forest, Xu et al.", "memcap"].filter((name) =>
    tallies.has(name),
  );
  const targets = [...(tallies.get("ours")?.perTarget.keys() ?? [])].sort();
  const table = targets.map((target) => ({
    target,
    ...Object.fromEntries(
      baselines.map((name) => [
        name,
        spreadOf(tallies.get(name)?.perTarget.get(target) ?? []).mean,
      ]),
    ),
  }));
  const won = (row: Readonly<Record<string, number | string>>, name: string) =>
    baselines.every((other) => Number(row[name]) >= Number(row[other]));
  const counts = baselines.map((name) => [name, table.filter((row) => won(row, name)).length]);
  return { targets: table, won: Object.fromEntries(counts) };
}

function onSplit(rows: readonly Named[], learned: readonly Named[], goal: Goal) {
  const held = rows.filter((row) => !learned.includes(row));
  return Object.fromEntries(
    Object.entries(trained).map(([name, train]) => {
      const score = train(learned, goal, 0);
      return [
        name,
        {
          all: spreadOf([ofOracle(choose(rows, score, goal))]).mean,
          heldOut: spreadOf([ofOracle(choose(held, score, goal))]).mean,
        },
      ];
    }),
  );
}

/** Whether what we state of our errors holds, on held-out rows; and what a prediction costs. */
function intervals(rows: readonly Named[]) {
  const found = Array.from({ length: SPLITS }, (_, seed) => {
    const mixed = shuffle(rows, mulberry32(seed));
    const size = Math.round(TRAINING * rows.length);
    const predictor = learners.ours.open(
      learners.ours.train(mixed.slice(0, size), kaceNames),
      kaceNames,
    );
    return accuracyOf(mixed.slice(size), predictor);
  });
  return {
    error: spreadOf(found.map(({ error }) => error)),
    covered: spreadOf(found.map(({ covered }) => covered)),
    width: spreadOf(found.map(({ width }) => width)),
  };
}

const BATCHES = 150;
const REPEATS = 20;

/** The cost of our learner: a training on 20 % of the 181 rows, and a prediction of one side by a model of the 102. */
export function speed() {
  const all = kacePairs();
  const training = Array.from({ length: SPLITS }, (_, seed) => {
    const mixed = shuffle(all, mulberry32(seed)).slice(0, Math.round(TRAINING * all.length));
    return cpuMs(() => learners.ours.train(mixed, kaceNames))[1];
  });
  const rows = all.filter(isConsistent);
  const predictor = learners.ours.open(learners.ours.train(rows, kaceNames), kaceNames);
  const prediction = Array.from({ length: BATCHES }, () => {
    const [, ms] = cpuMs(() => {
      for (let i = 0; i < REPEATS; i++) accuracyOf(rows, predictor);
    });
    return (ms * 1000) / (REPEATS * rows.length * 2);
  });
  const figure = (value: number) => Number(value.toPrecision(3));
  return {
    trainingCpuMs: { median: figure(medianOf(training)), least: figure(Math.min(...training)) },
    // Others take caches and the other half of a core; the least batch is the nearest to a machine of its own.
    predictionCpuUs: {
      median: figure(medianOf(prediction)),
      least: figure(Math.min(...prediction)),
    },
  };
}
