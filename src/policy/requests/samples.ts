// Times are in us, without slices unless they are said to be measured.
import type { EngineStep } from "./engine-step.ts";

const MAX_STRETCH = 4;

export interface Sample {
  readonly atMs: number;
  readonly steps: number;
  readonly decodeSteps: number;
  readonly decodeUs: number; // measured
  readonly prefillUs: number; // measured
  readonly decodeSlices: number;
  readonly prefillSlices: number;
}

export function sampleOf(steps: readonly EngineStep[], atMs: number): Sample {
  const sum = (prefills: boolean, of: (step: EngineStep) => number) =>
    steps.reduce((all, step) => (step.prefill === prefills ? all + of(step) : all), 0);
  return {
    atMs,
    steps: steps.length,
    decodeSteps: sum(false, () => 1),
    decodeUs: sum(false, ({ us }) => us),
    prefillUs: sum(true, ({ us }) => us),
    decodeSlices: sum(false, ({ slices }) => slices),
    prefillSlices: sum(true, ({ slices }) => slices),
  };
}

/**
 * Steps of some time. Prompts come by the time and not by steps: between longer decode steps more of them are read. So the
 * steps of a request get longer by more than slices take.
 */
export interface Steps {
  readonly decodeUs: number; // mean of a step
  readonly prefillUs: number; // mean of a step
  readonly prefillsPerUs: number;
  readonly factors: Factors; // what slices did meanwhile
}

/** How many times as long slices make steps. */
interface Factors {
  readonly all: number;
  readonly decode: number;
}

export function stepsOf(samples: readonly Sample[], costUs: number): Steps {
  const sum = (of: (sample: Sample) => number) => samples.reduce((all, one) => all + of(one), 0);
  const decodes = sum((one) => one.decodeSteps);
  const prefills = sum((one) => one.steps) - decodes;
  const decode = { us: sum((one) => one.decodeUs), slices: sum((one) => one.decodeSlices) };
  const prefill = { us: sum((one) => one.prefillUs), slices: sum((one) => one.prefillSlices) };
  const us = decode.us + prefill.us;
  const solo = (steps: { us: number; slices: number }) =>
    Math.max(steps.us / MAX_STRETCH, steps.us - costUs * steps.slices);
  const factor = (steps: { us: number; slices: number }) =>
    steps.us > 0 ? steps.us / solo(steps) : 1;
  return {
    decodeUs: solo(decode) / Math.max(1, decodes),
    prefillUs: solo(prefill) / Math.max(1, prefills),
    prefillsPerUs: us > 0 ? prefills / us : 0,
    factors: {
      all: factor({ us, slices: decode.slices + prefill.slices }),
      decode: factor(decode),
    },
  };
}

/** Each stretch of so many steps. */
export const stretchesOf = (
  samples: readonly Sample[],
  costUs: number,
  steps: number,
): readonly Steps[] =>
  samples.flatMap((_, from) => {
    let to = from;
    let count = 0;
    for (; to < samples.length && count < steps; to++) count += samples[to]?.steps ?? 0;
    return count < steps ? [] : [stepsOf(samples.slice(from, to), costUs)];
  });

/** The mean step where slices make all steps, or those that make tokens only, `factor` times as long. */
export function meanStepUs(
  { decodeUs, prefillUs, prefillsPerUs }: Steps,
  factor: number,
  inPrefill: boolean,
): number {
  const longUs = factor * decodeUs;
  const excessUs = (inPrefill ? factor * prefillUs : prefillUs) - longUs;
  // Where prompts take nearly all of the time, steps would get longer without a bound.
  return longUs / Math.max(1 / MAX_STRETCH, 1 - prefillsPerUs * excessUs);
}

/** The factor with which the mean step takes `us`. */
export function factorFor(
  { decodeUs, prefillUs, prefillsPerUs }: Steps,
  us: number,
  inPrefill: boolean,
): number {
  if (us === Number.POSITIVE_INFINITY) return us;
  const prefills = prefillsPerUs * us;
  if (inPrefill) return us / Math.max(1, decodeUs + prefills * (prefillUs - decodeUs));
  // With a prompt in each step no step gets longer.
  if (prefills >= 1) return Number.POSITIVE_INFINITY;
  return (us - prefills * prefillUs) / (Math.max(1, decodeUs) * (1 - prefills));
}
