import { quantile } from "#core";
import { INTERVAL } from "../data/predictor.ts";
import { candidateNames, candidates } from "./candidates.ts";
import type { Trial } from "./trials.ts";

export interface Judgement {
  /** They are in the order of `candidateNames`; their sum is 1. */
  readonly weights: readonly number[];
  readonly error: number;
  /** It is half the width of the interval, in `error` plus how far the candidates disagree. */
  readonly width: number;
}

const prior: readonly number[] = candidateNames.map((name) => candidates[name].prior);

export const MIN_TRIALS = 24;
/** The prior counts as this many trials in which another weight is that much worse. */
const PRIOR_TRIALS = 8;
/** Errors below this are noise of the measurement. */
const NOISE = 0.01;
const STEPS = 300;

/**
 * They have the least absolute error, held to the prior by relative entropy, by exponentiated
 * gradients (Kivinen and Warmuth, 1997). `trust`: as how many independent trials one counts.
 */
export function weightsOf(trials: readonly Trial[], trust: number): readonly number[] {
  if (trials.length === 0) return prior;
  const least = Math.min(
    ...prior.map((_, c) => meanError(trials, (trial) => trial.answers[c] as number)),
  );
  const scale = (trust * trials.length) / Math.max(NOISE, least);
  let weights = prior;
  let average = prior.map(() => 0);
  for (let step = 1; step <= STEPS; step++) {
    const gradient = prior.map(
      (one, c) => PRIOR_TRIALS * (Math.log((weights[c] as number) / one) + 1),
    );
    for (const { answers, retained } of trials) {
      const error = mix(weights, answers) - retained;
      const sign = error / Math.hypot(error, NOISE);
      for (let c = 0; c < gradient.length; c++)
        gradient[c] =
          (gradient[c] as number) +
          (scale / trials.length) * sign * ((answers[c] as number) - retained);
    }
    const rate = 1 / (PRIOR_TRIALS + trust * trials.length) / Math.sqrt(step / 10 + 1);
    const raised = weights.map((weight, c) =>
      Math.max(1e-6, weight * Math.exp(-rate * (gradient[c] as number))),
    );
    const sum = raised.reduce((total, one) => total + one, 0);
    weights = raised.map((one) => one / sum);
    if (step > STEPS / 2) average = average.map((one, c) => one + (weights[c] as number));
  }
  return average.map((one) => one / (STEPS - Math.floor(STEPS / 2)));
}

/** The width is that of split conformal prediction: the fewer trials, the more of them it holds. */
export function judge(
  trials: readonly Trial[],
  weights: readonly number[],
  trust: number,
): Judgement {
  const error = Math.max(
    NOISE,
    meanError(trials, ({ answers }) => mix(weights, answers)),
  );
  const misses = trials.map(
    ({ answers, retained }) =>
      Math.abs(mix(weights, answers) - retained) / (error + disagreement(weights, answers)),
  );
  const held = Math.min(1, INTERVAL * (1 + 1 / (trust * trials.length)));
  return { weights, error, width: quantile(misses, held) };
}

const meanError = (trials: readonly Trial[], answer: (trial: Trial) => number): number =>
  trials.reduce((sum, trial) => sum + Math.abs(answer(trial) - trial.retained), 0) / trials.length;

export const mix = (weights: readonly number[], answers: ArrayLike<number>): number =>
  weights.reduce((sum, weight, c) => sum + weight * (answers[c] as number), 0);

export function disagreement(weights: readonly number[], answers: ArrayLike<number>): number {
  const mean = mix(weights, answers);
  return Math.sqrt(
    weights.reduce((sum, weight, c) => sum + weight * ((answers[c] as number) - mean) ** 2, 0),
  );
}
