// Errors of the predictors for workloads of which no variant was learned from, and whether the bounds hold for them:
// all rows of a model are left out at a time, from each measured set whose files are there (sets.ts). Also on random
// rows.
import { mulberry32, shuffle } from "#core";
import { type Choice, choose, ofOracle, predictedScore } from "#evaluation";
import {
  accuracyOf,
  type Colocation,
  type LearnerName,
  learners,
  meanOf,
  type Predictor,
} from "#predict";
import { isWanted, spreadOf, trainingOf } from "./contestants.ts";
import type { Named } from "./kace.ts";
import { type MeasuredSet, measuredSets } from "./sets.ts";

const compared = ["mixed", "ours", "chosen", "forest", "ridge"] as const satisfies LearnerName[];
const FOREST_TESTS = 10;
/** Rows of a large set that are learned from: as few as KACE trains on. In a small set all that are not left out. */
const FEW_ROWS = 36;
const SMALL = 240;
const SPLITS = 3;
const TRAINING = 0.2;

/** `--sets=NAME,NAME` leaves out the others. */
const asked = process.argv.find((argument) => argument.startsWith("--sets="))?.slice(7);
const isAsked = ({ name }: MeasuredSet): boolean => asked?.split(",").includes(name) ?? true;

/** Figures over the held-out rows of one training. */
interface Figures {
  readonly error: number;
  readonly covered?: number;
  readonly ofOracle?: number;
  readonly sides: number;
}

export function leftOut(say: (line: string) => void) {
  return {
    forestTests: FOREST_TESTS,
    sets: Object.fromEntries(
      measuredSets()
        .filter(isAsked)
        .map((set) => {
          const models = [...new Set(set.rows.flatMap(({ names }) => names.map(set.modelOf)))];
          const size = set.rows.length > SMALL ? FEW_ROWS : set.rows.length;
          const result = {
            rows: set.rows.length,
            models: models.length,
            learnedFrom: size,
            modelLeftOut: byModel(set, models, size),
            random: randomSplits(set),
          };
          say(set.name);
          return [set.name, result];
        }),
    ),
  };
}

/** By the number of clients, for each contestant, the means over the sides. */
function byModel(set: MeasuredSet, models: readonly string[], size: number) {
  const tally = new Tally();
  for (const model of models) {
    const isOf = (name: string) => set.modelOf(name) === model;
    const held = set.rows.filter(({ names }) => names.some(isOf));
    const others = set.rows.filter(({ names }) => !names.some(isOf));
    const learned = shuffle(others, mulberry32(0)).slice(0, size);
    judgeAll(tally, set, learned, held, 0, isOf);
  }
  return tally.means();
}

function randomSplits(set: MeasuredSet) {
  const tally = new Tally();
  for (let seed = 0; seed < SPLITS; seed++) {
    const mixed = shuffle(set.rows, mulberry32(seed));
    const size = Math.max(4, Math.round(TRAINING * mixed.length));
    judgeAll(tally, set, mixed.slice(0, size), mixed.slice(size), seed, () => true);
  }
  return tally.means();
}

class Tally {
  readonly #found = new Map<string, Map<string, Figures[]>>();

  add(clients: number, name: string, figures: Figures): void {
    const of = this.#found.get(`${clients} clients`) ?? new Map<string, Figures[]>();
    this.#found.set(`${clients} clients`, of.set(name, [...(of.get(name) ?? []), figures]));
  }

  means() {
    return Object.fromEntries(
      [...this.#found].map(([clients, of]) => [
        clients,
        Object.fromEntries([...of].map(([name, all]) => [name, meanFigures(all)])),
      ]),
    );
  }
}

function meanFigures(all: readonly Figures[]) {
  const sides = all.reduce((sum, one) => sum + one.sides, 0);
  const over = (of: (one: Figures) => number) =>
    Number((all.reduce((sum, one) => sum + of(one) * one.sides, 0) / sides).toFixed(4));
  const first = all[0];
  const reached = all.flatMap(({ ofOracle: one = Number.NaN }) => (Number.isNaN(one) ? [] : [one]));
  return {
    error: over(({ error }) => error),
    ...(first?.covered === undefined ? {} : { covered: over(({ covered = 0 }) => covered) }),
    ...(reached.length === 0 ? {} : { ofOracle: spreadOf(reached) }),
  };
}

/** `isTarget`: whose choices count. */
function judgeAll(
  tally: Tally,
  set: MeasuredSet,
  learned: readonly Named[],
  held: readonly Named[],
  seed: number,
  isTarget: (name: string) => boolean,
): void {
  const predictors = compared.filter(isWanted).map((name) => {
    const training = { ...trainingOf(seed), forestTests: FOREST_TESTS };
    const state = learners[name].train(learned, set.metrics, training);
    return [name, learners[name].open(state, set.metrics)] as const;
  });
  const sizes = [...new Set(held.map(({ sides }) => sides.length))].sort();
  for (const size of sizes) {
    const rows = held.filter(({ sides }) => sides.length === size);
    for (const [name, predictor] of predictors) {
      const { error, covered, sides } = accuracyOf(rows, predictor);
      const choices = choicesOf(rows, predictor, isTarget);
      const reached = choices.length === 0 ? {} : { ofOracle: ofOracle(choices) };
      tally.add(size, name, { error, covered, sides, ...reached });
    }
    const sides = rows.flatMap((row) => row.sides.map((side) => [side.retained, row] as const));
    const errorOf = (answer: (row: Colocation) => number) => ({
      error: meanOf(sides.map(([retained, row]) => Math.abs(answer(row) - retained))),
      sides: sides.length,
    });
    if (set.metrics.includes("smBusy")) tally.add(size, "sum of smBusy", errorOf(lineOf(learned)));
    const mean = meanOf(learned.flatMap((row) => row.sides.map(({ retained }) => retained)));
    tally.add(
      size,
      "mean",
      errorOf(() => mean),
    );
  }
}

function choicesOf(
  rows: readonly Named[],
  predictor: Predictor,
  isTarget: (name: string) => boolean,
): readonly Choice[] {
  const targets = new Set(
    rows.flatMap(({ names, sides }) =>
      sides.filter((_, i) => isTarget(names[i] ?? "")).map(({ features }) => features),
    ),
  );
  return choose(rows, predictedScore(predictor, "throughput"), "throughput").filter(({ target }) =>
    targets.has(target),
  );
}

/** The rule on one metric: a straight line through the sum of all clients' SM utilisation. */
function lineOf(rows: readonly Colocation[]): (row: Colocation) => number {
  const sumOf = ({ sides }: Colocation) =>
    sides.reduce((sum, { features }) => sum + (features.smBusy ?? 0), 0);
  const points = rows.flatMap((row) =>
    row.sides.map(({ retained }) => [sumOf(row), retained] as const),
  );
  const x = meanOf(points.map(([one]) => one));
  const y = meanOf(points.map(([, one]) => one));
  const spread = meanOf(points.map(([one]) => (one - x) ** 2));
  const slope = meanOf(points.map(([a, b]) => (a - x) * (b - y))) / (spread || 1);
  return (row) => y + slope * (sumOf(row) - x);
}
