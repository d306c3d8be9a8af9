// No neighbour, and several.
import type { Prediction } from "./predictor.ts";

/** Alone nothing is lost. */
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
 * Several neighbours, from what each alone would leave: what they add to the slowdown adds up. It is what taking
 * turns gives, and cautious where neighbours also hinder each other.
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
