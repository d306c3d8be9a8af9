// The engines and the traffic that the policy is tried with.

import type { Shape } from "#llm-model";
import { played, type Run, usualLimits } from "#llm-model";

/** transformers' continuous batching of a model of 8 B parameters on an H200 (docs/results/engine.md). */
export const large: Shape = {
  stepMs: 32,
  perSequenceMs: 0.25,
  perContextMs: 0.0001,
  perPromptTokenMs: 0.05,
  gapMs: 1.5,
  mostSequences: 64,
  batchTokens: 1024,
  cacheTokens: 65_536,
  promptLaunches: 1496,
};
/** The same on an H100: TTFT 94 / 384 ms and TPOT 41 / 48 ms at 1.6 requests a second; 96 / 320 and 41 / 47 were measured. */
export const h100: Shape = { ...large, stepMs: 34, perPromptTokenMs: 0.085 };
/** An engine that reads the weights faster. */
export const fast: Shape = {
  ...large,
  stepMs: 8,
  perSequenceMs: 0.08,
  perPromptTokenMs: 0.03,
  gapMs: 0.5,
  promptLaunches: 760,
};

/** vLLM 0.22.1 with a model of 8 B parameters on an H200 (bench/results/2026-11-29-h200-vllm-objectives.json). */
export const vllm: Shape = {
  stepMs: 4.8,
  perSequenceMs: 0.02,
  perContextMs: 2.7e-5,
  perPromptTokenMs: 0.02,
  gapMs: 0,
  mostSequences: 256,
  batchTokens: 8192,
  cacheTokens: 183_000,
  promptLaunches: 760,
  schedulesAhead: true,
};

export const lengths = {
  burstiness: 1,
  prompt: { mean: 512, cv: 1 },
  output: { mean: 128, cv: 0 },
};
export const at = (shape: Shape, perS: (at: number) => number, more: Partial<Run> = {}): Run => ({
  shape,
  traffic: { ...lengths, perS },
  seconds: 330,
  seed: 7,
  limits: {},
  ...more,
});

export const limitsAlone = (run: Run) => usualLimits([played({ ...run, fixed: "alone" })]);
