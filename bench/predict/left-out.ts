// Errors and choices of the predictors for workloads of which no variant was learned from, and whether the bounds hold
// for them: all rows of a model are left out at a time, from each measured set whose files are there (sets.ts). Also on
// random rows.
import { mulberry32, shuffle } from "#core";
import { type Choice, choose, ofOracle, predictedScore } from "#evaluation";
import { accuracyOf, learnerNames, learners, type Predictor } from "#predict";
import { BUSY_LINE, busyLine, meanPredictor } from "./busy-line.ts";
import { isWanted, spreadOf, trainingOf } from "./contestants.ts";
import type { Named } from "./kace.ts";
import { type MeasuredSet, measuredSets } from "./sets.ts";

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
  /** Undefined for a contestant that states no bounds. */
  readonly covered?: number;
  /** Undefined if no target has held-out rows. */
  readonly ofOracle?: number;
  readonly rows: number;
  readonly sides: number;
  /** Targets, each of which chose among its held-out rows. */
  readonly choices: number;
  /** Fraction of the oracle's worth if they choose by chance, on average. NaN without targets. */
  readonly chance: number;
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

  /** `judged`: over how much the figures are. `groups` are left-out models or random splits; a row may be in several. */
  means() {
    return Object.fromEntries(
      [...this.#found].map(([clients, of]) => {
        const [first = []] = of.values();
        const total = (name: "rows" | "sides" | "choices") =>
          first.reduce((sum, one) => sum + one[name], 0);
        const judged = {
          groups: first.length,
          rows: total("rows"),
          sides: total("sides"),
          choices: total("choices"),
          chance: spreadOf(first.map(({ chance }) => chance).filter((one) => !Number.isNaN(one))),
        };
        const figures = [...of].map(([name, all]) => [name, meanFigures(all)] as const);
        return [clients, { judged, ...Object.fromEntries(figures) }];
      }),
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
  const training = { ...trainingOf(seed), forestTests: FOREST_TESTS };
  const trained = learnerNames.filter(isWanted).map((name) => {
    const state = learners[name].train(learned, set.metrics, training);
    return [name, learners[name].open(state, set.metrics)] as const;
  });
  const line = busyLine(learned);
  const baselines = [
    ...(line ? [[BUSY_LINE, line] as const] : []),
    ["mean", meanPredictor(learned)] as const,
  ];
  const sizes = [...new Set(held.map(({ sides }) => sides.length))].sort();
  for (const size of sizes) {
    const rows = held.filter(({ sides }) => sides.length === size);
    const judge = (name: string, predictor: Predictor, statesBounds: boolean) => {
      const { error, covered, sides } = accuracyOf(rows, predictor);
      const choices = choicesOf(rows, predictor, isTarget);
      tally.add(size, name, {
        error,
        ...(statesBounds ? { covered } : {}),
        ...(choices.length === 0 ? {} : { ofOracle: ofOracle(choices) }),
        rows: rows.length,
        sides,
        choices: choices.length,
        chance: ofOracle(choices.map((one) => ({ ...one, chosen: one.mean }))),
      });
    };
    for (const [name, predictor] of trained) judge(name, predictor, true);
    for (const [name, predictor] of baselines) judge(name, predictor, false);
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
