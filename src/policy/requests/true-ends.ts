// The end of a step is seen when the engine looks at its results. An engine that queues ahead launches the next step first, and a step
// that reads prompts launches for some milliseconds. So the step before it seems to take longer than it did, and it seems to take less.
import type { EngineStep } from "./engine-step.ts";

/** Part of the usual length by which a step must be longer to count as seen late. */
const MIN_EXCESS_PART = 0.25;

/** A step that was queued ahead begins where the one before was seen to end. The times are rounded. */
const MAX_GAP_MS = 0.01;

const isQueued = (step: EngineStep, before: EngineStep): boolean =>
  step.endMs - step.us / 1000 - before.endMs < MAX_GAP_MS;

/**
 * Moves the border between a step that reads prompts and the one before it to where the latter has the usual length.
 * `last`: the step before `ended`, which was not returned yet. `usualUs`: a decode step without slices; 0: not known.
 */
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
