// By how much a slice of best-effort work makes an engine's step longer: measured on its own steps, because a slice costs more
// than it lasts (two switches of contexts, the rest of a chunk), and how much more depends on both programs.
import type { EngineStep } from "./engine-step.ts";

/**
 * Sums over decode steps, of which older ones weigh less. Each step counts by its difference to those of its last seconds,
 * because an engine with more requests has longer steps, into which more slices fall.
 */
export interface SliceCost {
  /** The squared differences of the number of slices. */
  readonly variation: number;
  /** The products of the differences of the number of slices and of the length of the step, in us. */
  readonly covariation: number;
  /** The median decode step of the last seconds, without slices, in us; 0: not known. */
  readonly usualUs: number;
  /** The means of such steps, with slices. */
  readonly meanSlices: number;
  readonly meanUs: number;
}

export const noSliceCost: SliceCost = {
  ...{ variation: 0, covariation: 0, usualUs: 0, meanSlices: 0, meanUs: 0 },
};

/** After this time a step weighs half. */
const HALF_LIFE_MS = 120_000;
/**
 * The longer a step is, the more slices fall into it. So only steps about as long as the median one tell what a slice costs: without
 * what slices add, they differ from it by no more than this part of it, and a slice.
 */
const ALIKE = 0.25;
const USUAL_MS = 4_000;
const MEAN_MS = 1_000;
/** Below this variation too little is known. */
const MIN_VARIATION = 20;
/** A cost outside of this range, in units of the slice, is an error of measurement. */
const MIN_COST = 0.6;
const MAX_COST = 4;
/** Before it is measured: 2.76 ms for a slice of 2 ms in mode isolated (vLLM 8B beside GPT-2-medium on an H200). */
const EXPECTED_COST = { isolated: 1.4, mps: 1.2 } as const;

interface Context {
  readonly passedMs: number;
  readonly sliceUs: number;
  readonly isolated: boolean;
}

/** Adds the steps of a sample. */
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

/** In us for each slice of `sliceUs`: the slope of step time over slices, by least squares; the expected one until it is known. */
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
