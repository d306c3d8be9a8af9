// The end of a step is seen when the engine reads its results. An engine that queues ahead launches
// the next step before, for some milliseconds with prompts: the step before it seems long.
import type { EngineStep } from "./engine-step.ts";

const MIN_EXCESS_PART = 0.25;

/** A step that was queued ahead begins where the one before was seen to end; times are rounded. */
const MAX_GAP_MS = 0.01;

const isQueued = (step: EngineStep, before: EngineStep): boolean =>
  step.endMs - step.us / 1000 - before.endMs < MAX_GAP_MS;

/** `last`: the step before `ended`, if it was not returned yet. */
export function atTrueEnds(
  last: EngineStep | undefined,
  ended: readonly EngineStep[],
  usualUs: number,
  costUs: number,
): { readonly steps: readonly EngineStep[]; readonly last: EngineStep | undefined } {
  const all = last ? [last, ...ended] : ended;
  const lateUs = all.map((step, i) => {
    const next = all[i + 1];
    if (usualUs === 0 || step.prefill || !next?.prefill || !isQueued(next, step)) return 0;
    const excessUs = step.us - costUs * step.slices - usualUs;
    return excessUs > MIN_EXCESS_PART * usualUs ? excessUs : 0;
  });
  const moved = all.map((step, i): EngineStep => {
    const [late = 0, before = 0] = [lateUs[i], lateUs[i - 1]];
    if (late === 0 && before === 0) return step;
    return { ...step, endMs: step.endMs - late / 1000, us: step.us - late + before };
  });
  return { steps: moved.slice(0, -1), last: moved.at(-1) };
}
