// A slice costs more than it lasts, depending on both programs, so an engine's own steps show it.
import type { EngineStep } from "./engine-step.ts";

/** An engine with more requests has longer steps, so steps are compared with recent ones. */
export interface SliceCost {
  readonly variation: number; // the number of slices in a step is squared
  readonly covariation: number; // slices are multiplied by us
  readonly usualUs: number; // the median decode step without slices; 0: not known
  readonly meanSlices: number;
  readonly meanUs: number;
}

export const noSliceCost: SliceCost = {
  ...{ variation: 0, covariation: 0, usualUs: 0, meanSlices: 0, meanUs: 0 },
};

const HALF_LIFE_MS = 120_000;
/** More slices fall into a longer step, so only steps about as long as the median one count. */
const ALIKE = 0.25;
const USUAL_MS = 4_000;
const MEAN_MS = 1_000;
const MIN_VARIATION = 20;
/** A cost outside of this range, in units of the slice, is an error of measurement. */
const MIN_COST = 0.6;
const MAX_COST = 4;
/** A slice of 2 ms cost 2.76 ms in mode isolated (vLLM 8B beside GPT-2-medium on an H200). */
const EXPECTED_COST = { isolated: 1.4, mps: 1.2 } as const;

interface Context {
  readonly passedMs: number;
  readonly sliceUs: number;
  readonly isolated: boolean;
}

export function withSteps(
  was: SliceCost,
  steps: readonly EngineStep[],
  { passedMs, sliceUs, isolated }: Context,
): SliceCost {
  const costUs = costOf(was, sliceUs, isolated);
  const soloUs = ({ us, slices }: EngineStep) => us - costUs * slices;
  const decode = steps.filter(({ prefill }) => !prefill);
  const lengths = decode.map(soloUs).toSorted((a, b) => a - b);
  const median = lengths[lengths.length >> 1] ?? was.usualUs;
  const towards = (before: number, now: number, ms: number) =>
    was.usualUs === 0 ? now : before + Math.min(1, passedMs / ms) * (now - before);
  const usualUs = towards(was.usualUs, median, USUAL_MS);
  const alike = decode.filter(
    (step) => Math.abs(soloUs(step) - usualUs) <= ALIKE * usualUs + sliceUs,
  );
  if (alike.length === 0) return { ...was, usualUs };
  const mean = (of: (step: EngineStep) => number) =>
    alike.reduce((sum, step) => sum + of(step), 0) / alike.length;
  const meanSlices = towards(
    was.meanSlices,
    mean(({ slices }) => slices),
    MEAN_MS,
  );
  const meanUs = towards(
    was.meanUs,
    mean(({ us }) => us),
    MEAN_MS,
  );
  const kept = 0.5 ** (passedMs / HALF_LIFE_MS);
  let [variation, covariation] = [kept * was.variation, kept * was.covariation];
  for (const { slices, us } of alike) {
    variation += (slices - meanSlices) ** 2;
    covariation += (slices - meanSlices) * (us - meanUs);
  }
  return { variation, covariation, usualUs, meanSlices, meanUs };
}

/** The cost is the slope of step time over slices, by least squares. */
export function costOf(
  { variation, covariation }: SliceCost,
  sliceUs: number,
  isolated: boolean,
): number {
  if (variation < MIN_VARIATION)
    return sliceUs * (isolated ? EXPECTED_COST.isolated : EXPECTED_COST.mps);
  const slope = covariation / variation;
  return Math.min(MAX_COST * sliceUs, Math.max(MIN_COST * sliceUs, slope));
}
