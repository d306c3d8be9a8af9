// The interface of everything that predicts a colocation.
import type { Features } from "./metrics.ts";

/** The parts of the SMs that clients may use, 0 to 1, in the order of the clients; 1 is unrestricted. */
export interface SmShares {
  readonly target: number;
  readonly others: readonly number[];
}

export interface Prediction {
  /**
   * The target's throughput beside these neighbours, divided by its solo throughput on the whole GPU. At least 0,
   * seldom above 1.
   */
  readonly retained: number;
  /** Standard deviation of the expected error of `retained`. */
  readonly uncertainty: number;
  /** Bounds that contain the true value in `INTERVAL` of the cases, for workloads like those learned from. */
  readonly low: number;
  readonly high: number;
  /** False if these workloads are unlike all that was learned from. Then the bounds may be too narrow. */
  readonly familiar: boolean;
}

/** The part of the true values that `low` to `high` should contain. */
export const INTERVAL = 0.9;

export interface Predictor {
  /**
   * How well the target runs beside all the others at once; without others, alone. Without `shares` every client may
   * use all SMs. Throws a UserError that names a metric which the features lack.
   */
  predict(target: Features, others: readonly Features[], shares?: SmShares): Prediction;
}
