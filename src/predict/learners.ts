// A new learner needs a line here; its conformance tests run by themselves.

import { mulberry32 } from "#core";
import { type ChosenState, openChosen, trainChosen } from "./chosen.ts";
import type { Colocation } from "./data/colocations.ts";
import type { MetricName } from "./data/metrics.ts";
import type { Predictor } from "./data/predictor.ts";
import { type GaussianState, openGaussian, trainGaussian } from "./gaussian/learner.ts";
import { type MixedState, openMixed, trainMixed } from "./mixed/learner.ts";
import { forest } from "./regress/forest.ts";
import { linear, ridge } from "./regress/linear.ts";
import { kaceNetwork, muxflowMlp, network } from "./regress/network.ts";
import type { Progress, Regressor } from "./regress/regressor.ts";
import { search } from "./regress/search.ts";
import { openSides, type SidesState, trainSides } from "./sides/sides.ts";

export interface Training {
  readonly seed: number;
  readonly forestTests?: number;
  readonly epochs?: number;
  /** It is in ms; KACE gives its search a minute. */
  readonly searchMs?: number;
  now(): number;
  readonly told?: Progress | undefined;
}

interface Learner {
  readonly summary: string;
  /** Returns plain JSON. `rows` have passed checkLearnable(). */
  train(rows: readonly Colocation[], metrics: readonly MetricName[], training: Training): unknown;
  open(state: unknown, metrics: readonly MetricName[]): Predictor;
}

const FOREST_TESTS = 100;
const SEARCH_MS = 60_000;

/** KACE's protocol also uses these on whole colocations (scores.ts). */
export const regressors = {
  linear: () => linear as Regressor<unknown>,
  ridge: () => ridge as Regressor<unknown>,
  forest: ({ forestTests = FOREST_TESTS }) => forest(forestTests) as Regressor<unknown>,
  network: ({ epochs = kaceNetwork.epochs }) =>
    network({ ...kaceNetwork, epochs }) as Regressor<unknown>,
  mlp: ({ epochs = muxflowMlp.epochs }) => network({ ...muxflowMlp, epochs }) as Regressor<unknown>,
  search: ({ searchMs = SEARCH_MS, now }) => search(searchMs, now) as Regressor<unknown>,
} satisfies Readonly<Record<string, (training: Training) => Regressor<unknown>>>;

type RegressorName = keyof typeof regressors;

const regressing = (name: RegressorName, summary: string): Learner => ({
  summary,
  train: (rows, metrics, training) =>
    trainSides(regressors[name](training), rows, metrics, mulberry32(training.seed), training.told),
  // The limits of searches and forests matter in training only.
  open: (state, metrics) =>
    openSides(regressors[name]({ seed: 0, now: () => 0 }), state as SidesState, metrics),
});

export const learners = {
  mixed: {
    summary: "ours, ridge, boosting, forests and a rule, weighted by left-out workloads and rows",
    train: trainMixed,
    open: (state, metrics) => openMixed(state as MixedState, metrics),
  },
  ours: {
    summary: "a Gaussian process for what each neighbour costs each target",
    train: trainGaussian,
    open: (state, metrics) => openGaussian(state as GaussianState, metrics),
  },
  chosen: {
    summary: "ours, linear, ridge, boosting or forest: what errs least on left-out training rows",
    train: trainChosen,
    open: (state, metrics) => openChosen(state as ChosenState, metrics),
  },
  linear: regressing("linear", "least squares (KACE)"),
  ridge: regressing("ridge", "least squares with weights held back"),
  forest: regressing("forest", "random forest, searched as KACE does"),
  network: regressing("network", "128 x 64 x 32 with early stopping (KACE)"),
  mlp: regressing("mlp", "four layers of 64 (MuxFlow)"),
  search: regressing("search", "the best of several within a time limit (KACE's AutoML)"),
} as const satisfies Readonly<Record<string, Learner>>;

export type LearnerName = keyof typeof learners;
export const learnerNames = Object.keys(learners) as readonly LearnerName[];
