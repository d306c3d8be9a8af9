// An LLM engine has steps that make a token each, and steps that read a prompt.
import { clearGap } from "./clear-gap.ts";
import type { Step } from "./divide.ts";

/** Steps of one kind launch about as much, or, where all launch as much, take about as long. */
const LAUNCHES_RATIO = 3;
const TIME_RATIO = 2;
const OUTLIERS = 0.003;
const MIN_STEPS = 3;

export function kindsOf(steps: readonly Step[]): readonly (readonly Step[])[] {
  const byLaunches = divided(steps, ({ launches }) => launches + 1, LAUNCHES_RATIO);
  return byLaunches ?? divided(steps, ({ begin, end }) => end - begin, TIME_RATIO) ?? [steps];
}

function divided(steps: readonly Step[], by: (step: Step) => number, ratio: number) {
  const split = clearGap(steps.map(by), ratio, OUTLIERS);
  if (!split) return undefined;
  const less = steps.filter((step) => by(step) < split.threshold);
  const more = steps.filter((step) => by(step) >= split.threshold);
  if (Math.min(less.length, more.length) < MIN_STEPS) return undefined;
  return less.length >= more.length ? [less, more] : [more, less];
}
