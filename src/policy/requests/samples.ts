// Times are in us, without slices.
import type { EngineStep } from "./engine-step.ts";

const LONGEST = 0.1;
const MAX_STRETCH = 4;

export interface Sample {
  readonly atMs: number;
  readonly steps: number;
  readonly decodeSteps: number;
  readonly decodeUs: number;
  readonly prefillUs: number;
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

export interface Stretch {
  readonly decodeUs: number; // no best-effort work is in it
  readonly prefillUs: number;
}

export const stretchesOf = (
  samples: readonly Sample[],
  costUs: number,
  steps: number,
): readonly Stretch[] =>
  samples.flatMap((_, from) => {
    let to = from;
    let count = 0;
    for (; to < samples.length && count < steps; to++) count += samples[to]?.steps ?? 0;
    return count < steps ? [] : [stretchOf(samples.slice(from, to), costUs)];
  });

export function stretchOf(samples: readonly Sample[], costUs: number): Stretch {
  const sum = (of: (sample: Sample) => number) => samples.reduce((all, one) => all + of(one), 0);
  const steps = Math.max(
    1,
    sum((one) => one.steps),
  );
  return {
    decodeUs: Math.max(0, sum((one) => one.decodeUs - costUs * one.decodeSlices) / steps),
    prefillUs: Math.max(0, sum((one) => one.prefillUs - costUs * one.prefillSlices) / steps),
  };
}

/** In the longest stretches more prompts are read than usual. */
export function decodesOfLongest(stretches: readonly Stretch[]): number {
  const total = ({ decodeUs, prefillUs }: Stretch) => decodeUs + prefillUs;
  const descending = stretches.toSorted((a, b) => total(b) - total(a));
  return meanOf(descending.slice(0, Math.ceil(LONGEST * stretches.length))).decodeUs;
}

export function meanOf(stretches: readonly Stretch[]): Stretch {
  const mean = (of: (stretch: Stretch) => number) =>
    stretches.reduce((sum, stretch) => sum + of(stretch), 0) / stretches.length;
  return {
    decodeUs: mean(({ decodeUs }) => decodeUs),
    prefillUs: mean(({ prefillUs }) => prefillUs),
  };
}

/** Means are without best-effort work, in us; 0 without steps. */
export function meanSteps(samples: readonly Sample[], costUs: number) {
  const sum = (of: (sample: Sample) => number) => samples.reduce((all, one) => all + of(one), 0);
  const decodeSteps = sum((one) => one.decodeSteps);
  const prefillSteps = sum((one) => one.steps - one.decodeSteps);
  return {
    decodeUs:
      Math.max(
        0,
        sum((one) => one.decodeUs - costUs * one.decodeSlices),
      ) / Math.max(1, decodeSteps),
    prefillUs:
      Math.max(
        0,
        sum((one) => one.prefillUs - costUs * one.prefillSlices),
      ) / Math.max(1, prefillSteps),
  };
}

export function factorOf(samples: readonly Sample[], costUs: number): number {
  const us = samples.reduce((sum, one) => sum + one.decodeUs + one.prefillUs, 0);
  const slices = samples.reduce((sum, one) => sum + one.decodeSlices + one.prefillSlices, 0);
  return us > 0 ? us / Math.max(us / MAX_STRETCH, us - costUs * slices) : 1;
}

export function slicesPerStep(samples: readonly Sample[]): number {
  const sum = (of: (sample: Sample) => number) => samples.reduce((all, one) => all + of(one), 0);
  const slices = sum(({ decodeSlices, prefillSlices }) => decodeSlices + prefillSlices);
  return (
    slices /
    Math.max(
      1,
      sum(({ steps }) => steps),
    )
  );
}
