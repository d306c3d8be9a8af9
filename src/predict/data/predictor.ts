import type { Features } from "./metrics.ts";

/** Parts are 0 to 1, in the order of the clients; 1 is unrestricted. */
export interface SmShares {
  readonly target: number;
  readonly others: readonly number[];
}

export interface Prediction {
  /** It is relative to solo throughput on the whole GPU: at least 0, seldom above 1. */
  readonly retained: number;
  /** It is the standard deviation of the expected error of `retained`. */
  readonly uncertainty: number;
  /** They contain the true value in `INTERVAL` of the cases, for familiar workloads. */
  readonly low: number;
  readonly high: number;
  /** False if these workloads are unlike all that was learned from: bounds may be too narrow. */
  readonly familiar: boolean;
}

export const INTERVAL = 0.9;

export interface Predictor {
  /** Without `shares`, clients may use all SMs. Throws a UserError that names a missing metric. */
  predict(target: Features, others: readonly Features[], shares?: SmShares): Prediction;
}
