export interface PlannedRequest {
  readonly offset: number; // ns from the start of the run; of a closed loop 0
  readonly prompt: number; // tokens
  readonly output: number;
}
