// Predictions without a neighbour, and with several.
import type { Prediction } from "./predictor.ts";

/** A client alone loses nothing. */
export const alone = (familiar: boolean): Prediction => ({
  retained: 1,
  uncertainty: 0,
  low: 1,
  high: 1,
  familiar,
});

interface Estimate {
  readonly retained: number;
  /** Standard deviation. */
  readonly sd: number;
}

/**
 * Combines several neighbours from predictions for each: the additional slowdowns are summed. That is the result of
 * taking turns, and cautious if neighbours also hinder each other.
 */
export function beside(pairs: readonly Estimate[]): Estimate {
  const slowdown = pairs.reduce((sum, { retained }) => sum + Math.max(0, 1 / retained - 1), 1);
  const retained = 1 / slowdown;
  const variance = pairs.reduce(
    (sum, pair) => sum + ((retained / pair.retained) ** 2 * pair.sd) ** 2,
    0,
  );
  return { retained, sd: Math.sqrt(variance) };
}
