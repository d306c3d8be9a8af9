// A slice costs other time than it lasts, depending on both programs, so an engine's own steps show it.
// More slices fall into a step that is longer for another reason, so steps can't just be compared. The
// policy makes slices rarer and more frequent in turns, and compares these phases: what differs is then
// due to that (an experiment; in the words of econometrics, an instrumental variable).
import type { EngineStep } from "./engine-step.ts";

/** The period of slices is longer by this part in one phase, and shorter in the next. */
export const DITHER = 0.1;
/** A phase lasts as long as so many steps with slices, MAX_PHASE_MS at most, and a look at least. */
const PHASE_STEPS = 16;
const MAX_PHASE_MS = 2_000;

export interface Dither {
  readonly sign: -1 | 1;
  readonly sinceMs: number;
}

/** Decode steps that began and ended in one phase. */
interface Phase extends Dither {
  readonly steps: number;
  readonly us: number;
  readonly slices: number;
}

export interface SliceCost {
  /** Steps of phases with more slices are longer by this, and have so many slices more; both are times steps. */
  readonly longerUs: number;
  readonly moreSlices: number;
  readonly phase: Phase | undefined;
  readonly before: Phase | undefined;
  readonly usualUs: number; // the median decode step without slices; 0: not known
}

export const noSliceCost: SliceCost = {
  ...{ longerUs: 0, moreSlices: 0, phase: undefined, before: undefined, usualUs: 0 },
};

const HALF_LIFE_MS = 120_000;
/** Other steps read prompts, or their end was seen late. */
const ALIKE = 0.25;
const USUAL_MS = 4_000;
/** A cost outside of this range, in units of the slice, is an error of measurement. */
const MIN_COST = { isolated: 0.6, mps: 0.1 } as const;
const MAX_COST = 4;
/** A slice of 2 ms cost 2.76 ms in mode isolated (vLLM 8B beside GPT-2-medium on an H200). */
const EXPECTED_COST = { isolated: 1.4, mps: 1.2 } as const;
/** The expected cost weighs as much as 120 steps in which a phase has one slice more than the other. */
const PRIOR = 120;

interface Context {
  readonly passedMs: number;
  readonly sliceUs: number;
  readonly isolated: boolean;
  readonly dither: Dither | undefined; // undefined: there were no slices
}

export function withSteps(
  was: SliceCost,
  steps: readonly EngineStep[],
  { passedMs, sliceUs, isolated, dither }: Context,
): SliceCost {
  const costUs = costOf(was, sliceUs, isolated);
  const soloUs = ({ us, slices }: EngineStep) => us - costUs * slices;
  const decode = steps.filter(({ prefill }) => !prefill);
  const lengths = decode.map(soloUs).toSorted((a, b) => a - b);
  const median = lengths[lengths.length >> 1] ?? was.usualUs;
  const usualUs =
    was.usualUs === 0
      ? median
      : was.usualUs + Math.min(1, passedMs / USUAL_MS) * (median - was.usualUs);
  if (!dither) return { ...was, usualUs, phase: undefined, before: undefined };
  const kept = 0.5 ** (passedMs / HALF_LIFE_MS);
  const sums = { usualUs, longerUs: kept * was.longerUs, moreSlices: kept * was.moreSlices };
  const alike = decode.filter(
    (step) =>
      Math.abs(soloUs(step) - usualUs) <= ALIKE * usualUs + sliceUs &&
      step.endMs - step.us / 1000 >= dither.sinceMs,
  );
  const goesOn = was.phase?.sinceMs === dither.sinceMs;
  const from = goesOn ? was.phase : undefined;
  const sum = (of: (step: EngineStep) => number) => alike.reduce((all, one) => all + of(one), 0);
  const phase = {
    ...dither,
    steps: (from?.steps ?? 0) + alike.length,
    us: (from?.us ?? 0) + sum(({ us }) => us),
    slices: (from?.slices ?? 0) + sum(({ slices }) => slices),
  };
  if (goesOn) return { ...was, ...sums, phase };
  const [longerUs, moreSlices] = compared(was.before, was.phase);
  return {
    usualUs,
    longerUs: sums.longerUs + longerUs,
    moreSlices: sums.moreSlices + moreSlices,
    phase,
    before: was.phase,
  };
}

/** A longer period has fewer slices. */
function compared(one: Phase | undefined, other: Phase | undefined): readonly [number, number] {
  if (!one || !other || one.sign === other.sign || Math.min(one.steps, other.steps) === 0)
    return [0, 0];
  const weight = -other.sign * Math.min(one.steps, other.steps);
  return [
    weight * (other.us / other.steps - one.us / one.steps),
    weight * (other.slices / other.steps - one.slices / one.steps),
  ];
}

export function costOf(
  { longerUs, moreSlices }: SliceCost,
  sliceUs: number,
  isolated: boolean,
): number {
  const mode = isolated ? "isolated" : "mps";
  const expectedUs = sliceUs * EXPECTED_COST[mode];
  const us = (longerUs + PRIOR * expectedUs) / (Math.max(0, moreSlices) + PRIOR);
  return Math.min(MAX_COST * sliceUs, Math.max(MIN_COST[mode] * sliceUs, us));
}

/** The dither from now on, beside engines whose steps take so long. */
export function nextDither(
  was: Dither | undefined,
  stepsUs: readonly number[],
  nowMs: number,
): Dither {
  if (!was) return { sign: 1, sinceMs: nowMs };
  const lastsMs = Math.min(MAX_PHASE_MS, (PHASE_STEPS * Math.max(0, ...stepsUs)) / 1000);
  return nowMs - was.sinceMs < lastsMs ? was : { sign: was.sign === 1 ? -1 : 1, sinceMs: nowMs };
}
