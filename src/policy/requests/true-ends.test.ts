import { expect, test } from "vitest";
import type { EngineStep } from "./engine-step.ts";
import { atTrueEnds } from "./true-ends.ts";

const step = (endMs: number, us: number, prefill = false, slices = 0): EngineStep => ({
  ...{ endMs, us, prefill, slices },
});

test("a step that was seen to end late, because the next one launched a prompt, has the usual length", () => {
  const seen = [step(5, 5000), step(15, 10_000), step(22, 7000, true), step(27, 5000)];
  const { steps, last } = atTrueEnds(undefined, seen, 5000, 2500);
  expect(steps).toEqual([step(5, 5000), step(10, 5000), step(22, 12_000, true)]);
  expect(last).toEqual(step(27, 5000));
});

test("the next step may come with the next sample", () => {
  const first = atTrueEnds(undefined, [step(10, 10_000)], 5000, 2500);
  expect(first.steps).toEqual([]);
  const { steps } = atTrueEnds(first.last, [step(17, 7000, true), step(22, 5000)], 5000, 2500);
  expect(steps).toEqual([step(5, 5000), step(17, 12_000, true)]);
});

test("what slices added to it stays with it", () => {
  const seen = [step(12.5, 12_500, false, 1), step(20, 7500, true), step(25, 5000)];
  const { steps } = atTrueEnds(undefined, seen, 5000, 2500);
  expect(steps.map(({ us }) => us)).toEqual([7500, 12_500]);
});

test("nothing moves where it is not longer than usual, before another decode step, or before the usual one is known", () => {
  const usual = [step(5, 5800), step(22, 17_000, true), step(40, 18_000), step(45, 5000)];
  expect(atTrueEnds(undefined, usual, 5000, 2500).steps).toEqual(usual.slice(0, -1));
  const late = [step(10, 10_000), step(17, 7000, true), step(22, 5000)];
  expect(atTrueEnds(undefined, late, 0, 2500).steps).toEqual(late.slice(0, -1));
});

test("nothing moves where the engine waits for a step before it queues the next", () => {
  const seen = [step(10, 10_000), step(20, 8500, true), step(25, 5000)];
  expect(atTrueEnds(undefined, seen, 5000, 2500).steps).toEqual(seen.slice(0, -1));
});
