export interface EngineStep {
  readonly endMs: number; // monotonic
  readonly us: number; // from the end before, or the first submission
  readonly slices: number; // a part counts as such
  readonly prefill: boolean; // it reads prompts, so it launches far more
}
