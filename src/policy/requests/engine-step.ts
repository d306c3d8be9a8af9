export interface EngineStep {
  readonly endMs: number; // monotonic
  readonly us: number; // it begins at the end of the last step, or at the first submission
  readonly slices: number; // a part counts as such
  readonly prefill: boolean; // it reads prompts, so it launches far more
}
