import type { Random } from "#core";
import type { Colocation, Side } from "../data/colocations.ts";
import { sideRow } from "../data/encode.ts";
import type { Features, MetricName } from "../data/metrics.ts";
import type { SmShares } from "../data/predictor.ts";
import { type Standard, standardise, standardOf } from "../data/standard.ts";
import { type GaussianState, openGaussian, trainGaussian } from "../gaussian/learner.ts";
import { boosting } from "../regress/boosting.ts";
import { customaryForest, customaryShape, forestOf } from "../regress/forest.ts";
import { ridge } from "../regress/linear.ts";
import type { Regressor } from "../regress/regressor.ts";
import { rule } from "../regress/rule.ts";
import { neighboursOf } from "../sides/sides.ts";
import { mixedRow } from "./rows.ts";

export type Answer = (
  target: Features,
  others: readonly Features[],
  shares: SmShares | undefined,
) => number;

export interface Candidate {
  readonly prior: number;
  /** `like` is the state from all rows in a trial, whose parameters may be taken over. */
  learn(
    rows: readonly Colocation[],
    metrics: readonly MetricName[],
    random: Random,
    like?: unknown,
  ): unknown;
  open(state: unknown, metrics: readonly MetricName[]): Answer;
}

interface RegressedState {
  readonly standard: Standard;
  readonly regression: unknown;
  /** Answers stay within what was measured: straight lines leave it soon. */
  readonly least: number;
  readonly most: number;
}

type RowOf = (
  target: Features,
  others: readonly Features[],
  metrics: readonly MetricName[],
  shares: SmShares | undefined,
) => ArrayLike<number>;

function candidateOf<State>(
  regressorOf: (metrics: number, trial: boolean) => Regressor<State>,
  rowOf: RowOf,
  prior: number,
): Candidate {
  return {
    prior,
    learn(rows, metrics, random, like): RegressedState {
      const each = rows.flatMap(({ sides }) => sides.map((side) => [side, sides] as const));
      const x = each.map(([side, sides]) => rowIn(side, sides, metrics, rowOf));
      const y = Float64Array.from(each, ([{ retained }]) => retained);
      const standard = standardOf(x);
      const placed = x.map((row) => standardise(standard, row));
      return {
        standard,
        regression: regressorOf(metrics.length, like !== undefined).learn(placed, y, random),
        least: Math.min(...y),
        most: Math.max(...y),
      };
    },
    open(state, metrics) {
      const { standard, regression, least, most } = state as RegressedState;
      const answer = regressorOf(metrics.length, false).open(regression as State);
      return (target, others, shares) =>
        Math.min(
          most,
          Math.max(least, answer(standardise(standard, rowOf(target, others, metrics, shares)))),
        );
    },
  };
}

function rowIn(
  side: Side,
  sides: readonly Side[],
  metrics: readonly MetricName[],
  rowOf: RowOf,
): ArrayLike<number> {
  const { others, shares } = neighboursOf(side, sides);
  return rowOf(side.features, others, metrics, shares);
}

const ours: Candidate = {
  prior: 0.5,
  learn: (rows, metrics, _, like) =>
    trainGaussian(rows, metrics, like ? { like: like as GaussianState } : {}),
  open(state, metrics) {
    const { predict } = openGaussian(state as GaussianState, metrics);
    return (target, others, shares) => predict(target, others, shares).retained;
  },
};

/** There are many trials, and more trees only make an average smoother. */
const TRIAL_TREES = 30;
const forestFor = (_: number, trial: boolean) =>
  trial ? forestOf({ ...customaryShape, trees: TRIAL_TREES }) : customaryForest;

export const candidates = {
  ours,
  ridge: candidateOf(() => ridge, mixedRow, 0.05),
  "ridge of plain rows": candidateOf(() => ridge, sideRow, 0.05),
  boosting: candidateOf(() => boosting(3, 100, 0.1), mixedRow, 0.1),
  forest: candidateOf(forestFor, mixedRow, 0.1),
  "forest of plain rows": candidateOf(forestFor, sideRow, 0.1),
  rule: candidateOf((metrics) => rule(metrics), mixedRow, 0.1),
} as const satisfies Readonly<Record<string, Candidate>>;

export type CandidateName = keyof typeof candidates;
export const candidateNames = Object.keys(candidates) as readonly CandidateName[];
