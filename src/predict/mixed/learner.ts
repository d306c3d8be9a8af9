// Learners are weighted by how well each predicts rows that it did not learn from (stacked
// regression, Breiman 1996): rows left out at random for measured workloads, families for new ones.
// So the mixture is about as good as its best member.
import { mulberry32 } from "#core";
import { type Colocation, keyOf } from "../data/colocations.ts";
import type { Features, MetricName } from "../data/metrics.ts";
import type { Predictor } from "../data/predictor.ts";
import { type GaussianState, openGaussian } from "../gaussian/learner.ts";
import type { Progress } from "../regress/regressor.ts";
import { type Answer, candidateNames, candidates } from "./candidates.ts";
import { type Trial, trialsOf } from "./trials.ts";
import { disagreement, type Judgement, judge, MIN_TRIALS, mix, weightsOf } from "./weights.ts";

const cases = ["measured, one", "measured, several", "new, one", "new, several"] as const;
type Case = (typeof cases)[number];
const caseOf = (neighbours: number, measured: boolean): Case =>
  `${measured ? "measured" : "new"}, ${neighbours > 1 ? "several" : "one"}`;

export interface MixedState {
  readonly learned: Readonly<Record<string, unknown>>;
  readonly judgements: Readonly<Record<Case, Judgement>>;
  readonly workloads: readonly (readonly number[])[];
  readonly neighbours: readonly number[];
}

const MIN_WEIGHT = 0.01;
/** Trials of new workloads share a few families, so they count for less. */
const TRUST = { measured: 1, new: 0.25 } as const;
const TRIALS_PART = 0.8;

export function trainMixed(
  rows: readonly Colocation[],
  metrics: readonly MetricName[],
  { seed, told = () => {} }: { readonly seed: number; readonly told?: Progress | undefined },
): MixedState {
  const random = mulberry32(seed);
  const whole = Object.fromEntries(
    candidateNames.map((name, i) => {
      const state = candidates[name].learn(rows, metrics, random);
      told(((1 - TRIALS_PART) * (i + 1)) / candidateNames.length);
      return [name, state];
    }),
  );
  const trials = trialsOf(rows, metrics, seed, whole, (part) =>
    told(Math.min(1, 1 - TRIALS_PART + TRIALS_PART * part)),
  );
  const judgements = judgementsOf(trials);
  const counts = candidateNames.filter(
    (name, c) => name === "ours" || cases.some((one) => (judgements[one].weights[c] as number) > 0),
  );
  const known = new Map<string, readonly number[]>();
  for (const { sides } of rows)
    for (const { features } of sides)
      known.set(
        keyOf(features, metrics),
        metrics.map((name) => features[name] as number),
      );
  return {
    learned: Object.fromEntries(counts.map((name) => [name, whole[name]])),
    judgements,
    workloads: [...known.values()],
    neighbours: [...new Set(rows.map(({ sides }) => sides.length - 1))].sort((a, b) => a - b),
  };
}

function judgementsOf(trials: readonly Trial[]): Readonly<Record<Case, Judgement>> {
  const judged = new Map<readonly Trial[], Judgement>();
  const found = cases.map((one) => {
    const isMeasured = one.startsWith("measured");
    const kind = trials.filter(({ measured }) => measured === isMeasured);
    const exact = kind.filter((trial) => caseOf(trial.neighbours, trial.measured) === one);
    const own = [exact, kind].find(({ length }) => length >= MIN_TRIALS) ?? trials;
    const judgement = judged.get(own) ?? judgeBy(own, isMeasured ? TRUST.measured : TRUST.new);
    judged.set(own, judgement);
    return [one, judgement] as const;
  });
  return Object.fromEntries(found) as Record<Case, Judgement>;
}

function judgeBy(trials: readonly Trial[], trust: number): Judgement {
  const weights = weightsOf(trials, trust).map((weight) => (weight < MIN_WEIGHT ? 0 : weight));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return judge(
    trials,
    weights.map((weight) => weight / sum),
    trust,
  );
}

export function openMixed(state: MixedState, metrics: readonly MetricName[]): Predictor {
  const ours = openGaussian(state.learned.ours as GaussianState, metrics);
  const answers = candidateNames.map((name): Answer => {
    const learned = state.learned[name];
    if (name === "ours" || learned === undefined) return () => 0;
    return candidates[name].open(learned, metrics);
  });
  const oursAt = candidateNames.indexOf("ours");
  const known = state.workloads.map(
    (values): Features => Object.fromEntries(metrics.map((name, k) => [name, values[k]])),
  );
  const measured = new Set(known.map((features) => keyOf(features, metrics)));
  return {
    predict(target, others, shares) {
      const own = ours.predict(target, others, shares);
      // For a number of neighbours that was not measured, only costs that add give a prediction.
      if (!state.neighbours.includes(others.length)) return own;
      const all = [target, ...others];
      const { weights, error, width } =
        state.judgements[
          caseOf(
            others.length,
            all.every((one) => measured.has(keyOf(one, metrics))),
          )
        ];
      const given = weights.map((weight, c) => {
        if (c === oursAt) return own.retained;
        return weight === 0 ? 0 : (answers[c] as Answer)(target, others, shares);
      });
      const retained = Math.max(0, mix(weights, given));
      const uncertainty = error + disagreement(weights, given);
      return {
        retained,
        uncertainty,
        low: Math.max(0, retained - width * uncertainty),
        high: retained + width * uncertainty,
        familiar: own.familiar,
      };
    },
  };
}
