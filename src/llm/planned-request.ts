/** One request of a plan. */
export interface PlannedRequest {
  /** ns from the start of the run; of a closed loop 0. */
  readonly offset: number;
  /** Tokens. */
  readonly prompt: number;
  readonly output: number;
}
