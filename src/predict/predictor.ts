// What everything that predicts a colocation answers, whatever it learned from and however.
import type { Features } from "./metrics.ts";

/** Parts of the SMs that clients may use, 0 to 1; 1 is unrestricted. In the order of the clients. */
export interface SmShares {
  readonly target: number;
  readonly others: readonly number[];
}

export interface Prediction {
  /** Of the target: throughput beside these neighbours / solo throughput on the whole GPU. 0 or more, seldom above 1. */
  readonly retained: number;
  /** Standard deviation of the error to expect of `retained`. */
  readonly uncertainty: number;
  /** Bounds that hold the truth in `INTERVAL` of the cases like those learned from. */
  readonly low: number;
  readonly high: number;
  /** False: these workloads are unlike all that was learned from, so that the bounds may be too narrow. */
  readonly familiar: boolean;
}

/** Part of the true values that `low` to `high` is meant to hold. */
export const INTERVAL = 0.9;

export interface Predictor {
  /**
   * How well the target runs beside all the others at once. Without others it runs alone.
   * Without `shares` everybody may use every SM. Throws a UserError that names a metric the features lack.
   */
  predict(target: Features, others: readonly Features[], shares?: SmShares): Prediction;
}
