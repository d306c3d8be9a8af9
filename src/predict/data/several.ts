// With s = 1
//
// retained, a neighbour costs (s^e - 1)
//
// e, or log(s) at e = 0. Costs of neighbours add, times a factor for their number. At e = 1
// additional slowdowns add (taking turns), at e = 0 slowdowns multiply. Exponent and factors are
// learned from colocations of three and more. Without them slowdowns multiply: composing KACE's
// measured pairs (V100, MPS) to its triples and quads then errs by +0.04 and +0.02, and by +0.07
// and +0.09 if they add (docs/results/prediction.md).
import type { Prediction } from "./predictor.ts";

export interface Composition {
  readonly exponent: number;
  /** It has the factor for 1, 2, 3, … neighbours; the last one is also for more. */
  readonly crowding: readonly number[];
}

export const MULTIPLYING = 0;
export const TAKING_TURNS = 1;

export const multiplying: Composition = { exponent: MULTIPLYING, crowding: [1] };
const takingTurns: Composition = { exponent: TAKING_TURNS, crowding: [1] };

export const crowdingOf = (neighbours: number, { crowding }: Composition): number =>
  crowding[Math.min(neighbours, crowding.length) - 1] ?? 1;

export const alone = (familiar: boolean): Prediction => ({
  retained: 1,
  uncertainty: 0,
  low: 1,
  high: 1,
  familiar,
});

/** A job that made no progress would have an infinite slowdown, so less counts as this. */
const MIN_RETAINED = 0.01;

export const costOf = (retained: number, exponent: number): number => {
  const log = -Math.log(Math.max(MIN_RETAINED, retained));
  return exponent === 0 ? log : Math.expm1(exponent * log) / exponent;
};

export const retainedOf = (cost: number, exponent: number): number =>
  exponent === 0
    ? Math.exp(-cost)
    : Math.max(MIN_RETAINED ** Math.abs(exponent), 1 + exponent * cost) ** (-1 / exponent);

export const together = (retained: readonly number[], composition: Composition): number =>
  retained.length === 1
    ? (retained[0] as number)
    : retainedOf(
        crowdingOf(retained.length, composition) *
          retained.reduce((sum, one) => sum + costOf(one, composition.exponent), 0),
        composition.exponent,
      );

interface Estimate {
  readonly retained: number;
  /** It is the standard deviation. */
  readonly sd: number;
}

/** Errors may have one cause, the target, so their standard deviations add. */
export function beside(pairs: readonly Estimate[], composition: Composition): Estimate {
  const { exponent } = composition;
  const retained = together(
    pairs.map((pair) => pair.retained),
    composition,
  );
  const factor = pairs.length === 1 ? 1 : crowdingOf(pairs.length, composition);
  const sd = pairs.reduce(
    (sum, pair) =>
      sum + (retained / Math.max(MIN_RETAINED, pair.retained)) ** (1 + exponent) * pair.sd,
    0,
  );
  return { retained, sd: factor * sd };
}

/** Composing may be wrong by the distance of the two simple rules if only pairs were measured. */
export const compositionDoubt = (retained: readonly number[]): number =>
  retained.length < 2 ? 0 : together(retained, takingTurns) - together(retained, multiplying);
