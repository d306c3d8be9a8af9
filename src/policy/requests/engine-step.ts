/** One step of an LLM engine, as the data plane saw it. */
export interface EngineStep {
  /** When it ended, in monotonic ms. */
  readonly endMs: number;
  /** From the end of the step before, or from the first submission after the GPU was idle. */
  readonly us: number;
  /** Slices of best-effort work that ran in it; a part counts as such. */
  readonly slices: number;
  /** It launches far more than most steps: it reads prompts. */
  readonly prefill: boolean;
}
