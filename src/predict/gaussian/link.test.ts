import fc from "fast-check";
import { expect, test } from "vitest";
import { ceiling, fromScale, steepness, toScale } from "./link.ts";

const softness = fc.constantFrom(0.1, 0.3, 0.65, 1);

test("a value converted to the scale and back is the same", () => {
  fc.assert(
    fc.property(fc.double({ min: 0.02, max: 0.95, noNaN: true }), softness, (retained, soft) => {
      expect(fromScale(toScale(retained, soft), soft)).toBeCloseTo(retained, 9);
    }),
  );
});

test("values out of range come back as the nearest end of the range", () => {
  expect(fromScale(toScale(7, 0.1), 0.1)).toBeCloseTo(0.98 * ceiling(0.1), 9);
  expect(fromScale(toScale(7, 1), 1)).toBeCloseTo(7, 9);
  expect(fromScale(toScale(0, 0.3), 0.3)).toBeCloseTo(0.01, 9);
});

test("steepness is the derivative", () => {
  fc.assert(
    fc.property(fc.double({ min: -3, max: 4, noNaN: true }), softness, (z, soft) => {
      const step = 1e-6;
      const slope = (fromScale(z - step, soft) - fromScale(z + step, soft)) / (2 * step);
      expect(steepness(z, soft)).toBeCloseTo(slope, 5);
    }),
  );
});
