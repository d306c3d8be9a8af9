// Each fast learner predicts rows that it was not given, so the choice needs no other tables.

import { mulberry32 } from "#core";
import { accuracyOf } from "./accuracy.ts";
import type { Colocation } from "./data/colocations.ts";
import { folds } from "./data/folds.ts";
import type { MetricName } from "./data/metrics.ts";
import type { Predictor } from "./data/predictor.ts";
import { type GaussianState, openGaussian, trainGaussian } from "./gaussian/learner.ts";
import { boosting } from "./regress/boosting.ts";
import { customaryForest } from "./regress/forest.ts";
import { linear, ridge } from "./regress/linear.ts";
import type { Progress, Regressor } from "./regress/regressor.ts";
import { openSides, type SidesState, trainSides } from "./sides/sides.ts";

interface Candidate {
  train(rows: readonly Colocation[], metrics: readonly MetricName[], seed: number): object;
  open(state: object, metrics: readonly MetricName[]): Predictor;
}

const regressing = <State>(regressor: Regressor<State>): Candidate => ({
  train: (rows, metrics, seed) => trainSides(regressor, rows, metrics, mulberry32(seed)),
  open: (state, metrics) => openSides(regressor, state as SidesState, metrics),
});

const candidates: Readonly<Record<string, Candidate>> = {
  ours: {
    train: (rows, metrics) => trainGaussian(rows, metrics),
    open: (state, metrics) => openGaussian(state as GaussianState, metrics),
  },
  ridge: regressing(ridge),
  linear: regressing(linear),
  boosting: regressing(boosting(3, 100, 0.1)),
  forest: regressing(customaryForest),
};
const FOLDS = 5;

export type ChosenState = { readonly winner: string };

export function trainChosen(
  rows: readonly Colocation[],
  metrics: readonly MetricName[],
  { seed, told }: { readonly seed: number; readonly told?: Progress | undefined },
): ChosenState {
  const parts = folds(rows, Math.min(FOLDS, rows.length), mulberry32(seed));
  let best = { winner: "ours", error: Number.POSITIVE_INFINITY };
  const all = Object.entries(candidates);
  let done = 0;
  for (const [winner, { train, open }] of all) {
    let error = 0;
    for (const held of parts) {
      const state = train(
        rows.filter((row) => !held.includes(row)),
        metrics,
        seed,
      );
      error += accuracyOf(held, open(state, metrics)).error * held.length;
      told?.(++done / (all.length * parts.length));
    }
    if (error < best.error) best = { winner, error };
  }
  const { winner } = best;
  return { winner, ...candidates[winner]?.train(rows, metrics, seed) };
}

export function openChosen(state: ChosenState, metrics: readonly MetricName[]): Predictor {
  const candidate = candidates[state.winner];
  if (!candidate) throw new RangeError(`no learner is called ${state.winner}`);
  return candidate.open(state, metrics);
}
