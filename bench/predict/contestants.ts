// Everybody who scores colocations in these comparisons, trained the same way on the same rows.

import { mulberry32, upperQuantileOfSorted } from "#core";
import {
  choose,
  type Goal,
  listScore,
  ofOracle,
  popularity,
  predictedScore,
  regressedScore,
  rules,
  type Score,
  targetsOf,
} from "#evaluation";
import {
  type Colocation,
  type Features,
  learners,
  meanOf,
  regressors,
  type Training,
  xuMetrics,
} from "#predict";
import { kaceNames } from "#profile";
import { BUSY_LINE, busyLine } from "./busy-line.ts";

/**
 * CPU time, so that a busy machine costs it nothing. The paper gives AutoML a minute for each of its trainings; 50
 * splits of several parts would take hours.
 */
const SEARCH_MS = 2000;
const cpuNow = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

export const trainingOf = (seed: number): Training => ({
  seed,
  searchMs: SEARCH_MS,
  now: cpuNow,
});

type Trainer = (rows: readonly Colocation[], goal: Goal, seed: number) => Score;

const kace =
  (name: keyof typeof regressors): Trainer =>
  (rows, goal, seed) =>
    regressedScore(regressors[name](trainingOf(seed)), rows, kaceNames, goal, mulberry32(seed));

/** Learned ones. All look at KACE's ten metrics, but for Xu et al.'s forest. */
const everybody: Readonly<Record<string, Trainer>> = {
  ours: (rows, goal) =>
    predictedScore(learners.ours.open(learners.ours.train(rows, kaceNames), kaceNames), goal),
  mixed: (rows, goal, seed) => {
    const { train, open } = learners.mixed;
    return predictedScore(open(train(rows, kaceNames, trainingOf(seed)), kaceNames), goal);
  },
  chosen: (rows, goal, seed) => {
    const { train, open } = learners.chosen;
    return predictedScore(open(train(rows, kaceNames, trainingOf(seed)), kaceNames), goal);
  },
  linear: kace("linear"),
  ridge: kace("ridge"),
  forest: kace("forest"),
  network: kace("network"),
  search: kace("search"),
  "mlp by sides": (rows, goal, seed) => {
    const { train, open } = learners.mlp;
    return predictedScore(open(train(rows, kaceNames, trainingOf(seed)), kaceNames), goal);
  },
  "forest, Xu et al.": (rows, goal, seed) =>
    regressedScore(regressors.forest(trainingOf(seed)), rows, xuMetrics, goal, mulberry32(seed)),
  [BUSY_LINE]: (rows, goal) => {
    const line = busyLine(rows);
    if (!line) throw new Error("a row of KACE's has no smBusy");
    return predictedScore(line, goal);
  },
  "list of partners": (rows, goal) => listScore(popularity(rows, goal)),
};

/** `--only=NAME,NAME` leaves out those that take minutes. */
const only = process.argv
  .find((argument) => argument.startsWith("--only="))
  ?.slice(7)
  .split(",");

export const isWanted = (name: string): boolean => only?.includes(name) ?? true;

export const trained: Readonly<Record<string, Trainer>> = Object.fromEntries(
  Object.entries(everybody).filter(([name]) => isWanted(name)),
);

export const unlearned: Readonly<Record<string, Score>> = rules;

/** The list of partners that scores best on `rows` themselves, by moving one at a time: nobody knows it beforehand. */
export function bestList(rows: readonly Colocation[], goal: Goal): Score {
  const worth = popularity(rows, goal);
  let order = targetsOf(rows).toSorted((a, b) => (worth.get(b) ?? 0) - (worth.get(a) ?? 0));
  const scoreOf = (list: readonly Features[]) =>
    listScore(new Map(list.map((features, i) => [features, -i])));
  const reached = (list: readonly Features[]) => ofOracle(choose(rows, scoreOf(list), goal));
  for (let now = reached(order), before = -1; now > before; ) {
    before = now;
    for (let from = 0; from < order.length; from++)
      for (let to = 0; to < order.length; to++) {
        const moved = order.toSpliced(from, 1).toSpliced(to, 0, ...order.slice(from, from + 1));
        const then = reached(moved);
        if (then > now) [order, now] = [moved, then];
      }
  }
  return scoreOf(order);
}

export interface Spread {
  readonly mean: number;
  /** Half width of its 95 % interval. */
  readonly within: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const mean = meanOf(values);
  const variance = meanOf(values.map((value) => (value - mean) ** 2));
  const round = (value: number) => Number(value.toFixed(5));
  return {
    mean: round(mean),
    within: round(1.96 * Math.sqrt(variance / Math.max(1, values.length - 1))),
  };
}

export const medianOf = (values: readonly number[]): number =>
  upperQuantileOfSorted(
    values.toSorted((a, b) => a - b),
    0.5,
  );

/** CPU ms of this thread, as far as the system tells them apart. */
export function cpuMs<T>(work: () => T): readonly [T, number] {
  const begun = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(begun);
  return [result, (user + system) / 1000];
}

/** Worths by row, so that scores are asked for once a row. */
export const remembered = (score: Score, rows: readonly Colocation[]): Score => {
  const known = new Map(rows.map((row) => [row, score(row, row.sides[0]?.features ?? {})]));
  return (row, target) => known.get(row) ?? score(row, target);
};
