import { expect, test } from "vitest";
import { mulberry32 } from "#core";
import { costOf, noSliceCost, withSteps } from "./slice-cost.ts";

const around = { passedMs: 250, sliceUs: 2000, isolated: true };

/** Looks of 20 steps. `lengthAt`: of a step without slices. */
function costAfter(looks: number, lengthAt: (look: number) => number, costUs: number, prompts = 0) {
  const random = mulberry32(3);
  let cost = noSliceCost;
  for (let look = 0; look < looks; look++) {
    const steps = Array.from({ length: 20 }, (_, i) => {
      const length = lengthAt(look) * (random() < prompts ? 3 : 1);
      const slices = Math.floor(length / 8000 + random());
      const us = length + costUs * slices + 200 * (random() - 0.5);
      return { endMs: 250 * look + i, us, slices, prefill: false };
    });
    cost = withSteps(cost, steps, around);
  }
  return costOf(cost, 2000, true);
}

test("the cost is the expected one until slices varied", () => {
  expect(costOf(noSliceCost, 2000, true)).toBe(2800);
  expect(costOf(noSliceCost, 400, false)).toBe(480);
});

test.each([2300, 3400])("a slice that costs %i us is measured as such", (costUs) => {
  expect(Math.abs(costAfter(200, () => 5000, costUs) / costUs - 1)).toBeLessThan(0.03);
});

test("steps that grow with the load, into which more slices fall, do not count for the slices' cost", () => {
  const drifting = (look: number) => 20_000 + 10_000 * Math.sin(look / 150);
  expect(Math.abs(costAfter(600, drifting, 2300) / 2300 - 1)).toBeLessThan(0.08);
});

test("steps that read prompts and can't be told from others don't, either", () => {
  expect(Math.abs(costAfter(400, () => 10_000, 2300, 0.1) / 2300 - 1)).toBeLessThan(0.08);
});
