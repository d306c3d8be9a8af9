// By how much a slice of best-effort work makes an engine's step longer: measured on its own steps, because a slice costs more
// than it lasts (two switches of contexts, the rest of a chunk), and how much more depends on both programs.
import type { EngineStep } from "./engine-step.ts";

/** Sums over decode steps, of which older ones weigh less. */
export interface SliceCost {
  readonly steps: number;
  readonly slices: number;
  readonly us: number;
  readonly slicesSquared: number;
  readonly slicesUs: number;
}

export const noSliceCost: SliceCost = { steps: 0, slices: 0, us: 0, slicesSquared: 0, slicesUs: 0 };

/** After this time a step weighs half. */
const HALF_LIFE_MS = 30_000;
/** A step that is so many times as long as the median is a stall, and says nothing of slices. */
const STALL_FACTOR = 6;
const MIN_STEPS = 100;
/** Variance of the number of slices in a step: below it the steps are too alike. */
const MIN_VARIANCE = 0.01;
/** A cost outside of this range, in units of the slice, is an error of measurement. */
const MIN_COST = 0.6;
const MAX_COST = 4;
/** Before it is measured: 2.76 ms for a slice of 2 ms in mode isolated (vLLM 8B beside GPT-2-medium on an H200). */
const EXPECTED_COST = { isolated: 1.4, mps: 1.2 } as const;

export function withSteps(
  was: SliceCost,
  steps: readonly EngineStep[],
  passedMs: number,
): SliceCost {
  const decode = steps.filter(({ prefill }) => !prefill);
  const lengths = decode.map(({ us }) => us).toSorted((a, b) => a - b);
  const stall = STALL_FACTOR * (lengths[lengths.length >> 1] ?? 0);
  const kept = 0.5 ** (passedMs / HALF_LIFE_MS);
  let sum = {
    steps: kept * was.steps,
    slices: kept * was.slices,
    us: kept * was.us,
    slicesSquared: kept * was.slicesSquared,
    slicesUs: kept * was.slicesUs,
  };
  for (const { us, slices } of decode) {
    if (us > stall) continue;
    sum = {
      steps: sum.steps + 1,
      slices: sum.slices + slices,
      us: sum.us + us,
      slicesSquared: sum.slicesSquared + slices * slices,
      slicesUs: sum.slicesUs + slices * us,
    };
  }
  return sum;
}

/** In us for each slice of `sliceUs`: the slope of step time over slices, by least squares; the expected one until it is known. */
export function costOf(cost: SliceCost, sliceUs: number, isolated: boolean): number {
  const expected = sliceUs * (isolated ? EXPECTED_COST.isolated : EXPECTED_COST.mps);
  const { steps, slices, us, slicesSquared, slicesUs } = cost;
  if (steps < MIN_STEPS) return expected;
  const variance = slicesSquared / steps - (slices / steps) ** 2;
  if (variance < MIN_VARIANCE) return expected;
  const slope = (slicesUs / steps - (slices / steps) * (us / steps)) / variance;
  return Math.min(MAX_COST * sliceUs, Math.max(MIN_COST * sliceUs, slope));
}
