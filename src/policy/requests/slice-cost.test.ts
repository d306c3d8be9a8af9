import { expect, test } from "vitest";
import { mulberry32, normals } from "#core";
import { costOf, DITHER, type Dither, nextDither, noSliceCost, withSteps } from "./slice-cost.ts";

const LOOK_MS = 250;

interface Slices {
  readonly costUs: number;
  readonly lengthUs: number;
  readonly everyUs: number;
  readonly isolated: boolean;
}

const isolated = { costUs: 2300, lengthUs: 2000, everyUs: 7300, isolated: true };
const sideBySide = { costUs: 190, lengthUs: 400, everyUs: 1900, isolated: false };

/** The found cost in units of the true one. Slices are due in a period, whenever a step begins. `stepAt`: us without slices. */
function foundIn(seconds: number, slices: Slices, stepAt: (ms: number) => number) {
  const { costUs, lengthUs, everyUs } = slices;
  let cost = noSliceCost;
  let atUs = 0;
  let dueUs = 0;
  let dither: Dither | undefined;
  for (let look = 1; look <= seconds * (1000 / LOOK_MS); look++) {
    dither = nextDither(dither, [2 * stepAt(atUs / 1000)], (look - 1) * LOOK_MS);
    const steps = [];
    while (atUs < look * LOOK_MS * 1000) {
      const begin = atUs;
      let count = 0;
      for (let left = stepAt(atUs / 1000); left > 0; ) {
        const part = Math.min(left, Math.max(0, dueUs - atUs));
        atUs += part;
        left -= part;
        if (left <= 0) break;
        dueUs = atUs + everyUs * (1 + dither.sign * DITHER);
        atUs += costUs;
        count++;
      }
      steps.push({ endMs: atUs / 1000, us: atUs - begin, slices: count, prefill: false });
    }
    const around = { passedMs: LOOK_MS, sliceUs: lengthUs, isolated: slices.isolated };
    cost = withSteps(cost, steps, { ...around, dither });
  }
  return costOf(cost, lengthUs, slices.isolated) / costUs;
}

const error = (ratio: number) => Math.abs(ratio - 1);

test("the cost is the expected one until slices varied", () => {
  expect(costOf(noSliceCost, 2000, true)).toBe(2800);
  expect(costOf(noSliceCost, 400, false)).toBe(480);
});

test.each([isolated, { ...isolated, costUs: 3400 }, sideBySide])(
  "a slice that costs $costUs us is measured as such",
  (slices) => {
    expect(error(foundIn(120, slices, () => 5000))).toBeLessThan(0.06);
  },
);

test.each([isolated, sideBySide])(
  "more slices in steps that are longer by chance do not count for a cost of $costUs us",
  (slices) => {
    const normal = normals(mulberry32(5));
    expect(error(foundIn(120, slices, () => 6000 * (1 + 0.08 * normal())))).toBeLessThan(0.1);
  },
);

test("steps that grow with the load, into which more slices fall, do not count", () => {
  const drifting = (ms: number) => 20_000 + 10_000 * Math.sin(ms / 30_000);
  expect(error(foundIn(150, isolated, drifting))).toBeLessThan(0.08);
});

test("steps that read prompts and can't be told from others do not count", () => {
  const random = mulberry32(3);
  expect(error(foundIn(120, isolated, () => 10_000 * (random() < 0.1 ? 3 : 1)))).toBeLessThan(0.1);
});

test("long steps, of which few begin and end between two looks, tell it, too", () => {
  expect(error(foundIn(150, { ...isolated, everyUs: 4000 }, () => 34_000))).toBeLessThan(0.1);
});

test("after ten seconds the cost is known to a quarter", () => {
  expect(error(foundIn(10, { ...isolated, costUs: 4000 }, () => 5000))).toBeLessThan(0.25);
  expect(error(foundIn(10, sideBySide, () => 5000))).toBeLessThan(0.5);
});
