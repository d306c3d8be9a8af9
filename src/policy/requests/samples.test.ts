import { describe, expect, test } from "vitest";
import { factorFor, meanStepUs, type Sample, stepsOf } from "./samples.ts";

const COST_US = 2700;
const DECODE_US = 5000;
const PROMPT_US = 18_000;
const PROMPTS_PER_S = 12;

/** Ten seconds beside an engine whose decode steps are `factor` times as long by slices. */
function beside(factor: number, inPrefill: boolean): Sample {
  const promptUs = PROMPT_US * (inPrefill ? factor : 1);
  const prompts = 10 * PROMPTS_PER_S;
  const decodeUs = 10e6 - prompts * promptUs;
  const decodeSteps = decodeUs / (factor * DECODE_US);
  return {
    atMs: 0,
    steps: decodeSteps + prompts,
    decodeSteps,
    decodeUs,
    prefillUs: prompts * promptUs,
    decodeSlices: (decodeUs - DECODE_US * decodeSteps) / COST_US,
    prefillSlices: (prompts * (promptUs - PROMPT_US)) / COST_US,
  };
}

describe.each([true, false])("with slices in prefill steps: %s", (inPrefill) => {
  test.each([1, 1.3, 1.6])("where slices make steps %f times as long", (factor) => {
    const sample = beside(factor, inPrefill);
    const steps = stepsOf([sample], COST_US);
    expect(steps).toMatchObject({
      decodeUs: expect.closeTo(DECODE_US, 3),
      prefillUs: expect.closeTo(PROMPT_US, 3),
      prefillsPerUs: expect.closeTo(PROMPTS_PER_S / 1e6, 9),
    });
    // From any share the mean step of any other is known, and the share for a mean step.
    const measuredUs = (sample.decodeUs + sample.prefillUs) / sample.steps;
    const alone = stepsOf([beside(1, inPrefill)], COST_US);
    expect(meanStepUs(alone, factor, inPrefill)).toBeCloseTo(measuredUs, 3);
    expect(factorFor(alone, measuredUs, inPrefill)).toBeCloseTo(factor, 6);
    expect(steps.factors[inPrefill ? "all" : "decode"]).toBeCloseTo(factor, 6);
  });
});

test("an engine that reads a prompt in each step is made no slower by slices in its other steps", () => {
  const steps = { ...stepsOf([beside(1, false)], COST_US), prefillsPerUs: 1 / PROMPT_US };
  expect(factorFor(steps, PROMPT_US, false)).toBe(Number.POSITIVE_INFINITY);
  expect(factorFor(steps, Number.POSITIVE_INFINITY, true)).toBe(Number.POSITIVE_INFINITY);
});
