// Judges learners and rules by random splits: they are trained on a part of the colocations and tested on the others.

import { mulberry32, shuffle } from "#core";
import {
  accuracyOf,
  type Colocation,
  type Features,
  type LearnerName,
  type MetricName,
  meanOf,
  openModel,
  type Training,
  train,
} from "#predict";
import { choose, fitOf, ofOracle, regret } from "./evaluate.ts";
import { type Goal, listScore, popularity, predictedScore, rules, type Score } from "./scores.ts";

export interface Judging {
  readonly learners: readonly LearnerName[];
  readonly metrics: readonly MetricName[];
  readonly goal: Goal;
  /** The number of splits. */
  readonly splits: number;
  /** The number of colocations to train on. */
  readonly size: number;
  /** The training of the first split. */
  readonly training: Training;
  readonly source: string;
  readonly nameOf: (features: Features) => string;
  /** Called after each split with the number of finished splits. */
  readonly progress: (done: number) => void;
}

/** Figures over held-out rows. A rule only chooses, so it has no fit. */
export interface SplitFigures {
  readonly ofOracle: number;
  readonly regret: number;
  readonly r2?: number;
  readonly rmse?: number;
  readonly error?: number;
  readonly covered?: number;
}

/** Means over the splits, for each learner or rule. */
export function judged(
  colocations: readonly Colocation[],
  { learners, metrics, goal, splits, size, training, source, nameOf, progress }: Judging,
): readonly (SplitFigures & { readonly name: string })[] {
  const found = new Map<string, SplitFigures[]>();
  for (let split = 0; split < splits; split++) {
    const seed = training.seed + split;
    const mixed = shuffle(colocations, mulberry32(seed));
    const [learned, held] = [mixed.slice(0, size), mixed.slice(size)];
    const note = (name: string, figures: SplitFigures) =>
      found.set(name, [...(found.get(name) ?? []), figures]);
    for (const name of learners) {
      const provenance = { source, date: "", command: "" };
      const model = train(name, learned, metrics, { ...training, seed }, provenance, nameOf);
      const predictor = openModel(model);
      const score = predictedScore(predictor, goal);
      const { error, covered } = accuracyOf(held, predictor);
      note(name, { ...chosenBy(held, score, goal), ...fitOf(held, score, goal), error, covered });
    }
    note("list of partners", chosenBy(held, listScore(popularity(learned, goal)), goal));
    for (const [name, score] of Object.entries(rules))
      if (
        held.every(({ sides }) =>
          sides.every(({ features }) => features[NEEDED[name] ?? "smBusy"] !== undefined),
        )
      )
        note(name, chosenBy(held, score, goal));
    progress(split + 1);
  }
  return [...found].map(([name, all]) => ({ name, ...meanFigures(all) }));
}

/** The metric that each rule uses. */
const NEEDED: Readonly<Record<string, MetricName>> = {
  memcap: "memoryGB",
  "sm%": "smBusy",
  "mem%": "memoryBusy",
};

function chosenBy(held: readonly Colocation[], score: Score, goal: Goal): SplitFigures {
  const choices = choose(held, score, goal);
  return { ofOracle: ofOracle(choices), regret: regret(choices) };
}

function meanFigures(all: readonly SplitFigures[]): SplitFigures {
  const keys = Object.keys(all[0] ?? {}) as (keyof SplitFigures)[];
  const means = keys.map((key) => [key, meanOf(all.map((one) => one[key] ?? Number.NaN))]);
  return Object.fromEntries(means);
}
