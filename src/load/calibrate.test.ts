import fc from "fast-check";
import { expect, test } from "vitest";
import { iterationsFor, search } from "./calibrate.ts";

/** A kernel with a fixed cost and a rate. */
const kernel = (fixedUs: number, usPerIteration: number) => (iterations: number) =>
  fixedUs + iterations * usPerIteration;

test("finds the iterations of a kernel with a fixed cost, to half an iteration", () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 8, noNaN: true }),
      fc.double({ min: 0.01, max: 2, noNaN: true }),
      fc.double({ min: 20, max: 20_000, noNaN: true }),
      (fixedUs, usPerIteration, wantedUs) => {
        const timeUs = kernel(fixedUs, usPerIteration);
        const off = Math.abs(timeUs(iterationsFor(wantedUs, timeUs)) - wantedUs);
        expect(off).toBeLessThanOrEqual(0.5001 * usPerIteration);
      },
    ),
  );
});

test("a kernel that can't be that short runs one iteration", () => {
  expect(iterationsFor(1, kernel(5, 0.2))).toBe(1);
});

test("noise that hides the slope leaves the first guess", () => {
  const readings = [50, 100, 100];
  expect(iterationsFor(100, () => readings.shift() ?? 0)).toBe(32);
});

test("a search that other work disturbed is repeated", () => {
  const alone = kernel(3, 0.17);
  // Delayed when the search first comes near the target, and a little at the next reading, so the slope seems steep.
  const late = new Map([
    [4, 5000],
    [5, 60],
  ]);
  let looks = 0;
  const besideOthers = (iterations: number) => alone(iterations) + (late.get(looks++) ?? 0);
  expect(alone(iterationsFor(150, besideOthers))).toBeLessThan(50);
  looks = 0;
  expect(search(150, besideOthers).kernelUs).toBeCloseTo(150, 0);
});
