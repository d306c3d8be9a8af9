import fc from "fast-check";
import { expect, test } from "vitest";
import { ratioScale, shareScale } from "./scale.ts";

test.each([
  [[1.01], [1, 1.2, 1.5, 2]],
  [[4.5], [1, 1.2, 1.5, 2, 2.5, 3, 4]],
  [[12], [1, 1.5, 2, 3, 5, 7, 10]],
  [
    [0.9, 250],
    [1, 1.5, 2, 3, 5, 7, 10],
  ],
])("up to %j the ticks are %j", (values, ticks) => {
  expect(ratioScale(values, 200, 0, 19).ticks).toEqual(ticks);
});

test("every value has its place, ticks are apart and 1 is among them", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 1e-4, max: 1e6, noNaN: true })), (values) => {
      const { at, ticks } = ratioScale(values, 200, 0, 19);
      for (const value of [...values, ...ticks]) {
        expect(at(value)).toBeGreaterThanOrEqual(0);
        expect(at(value)).toBeLessThanOrEqual(200);
      }
      expect(ticks).toContain(1);
    }),
  );
});

test("what is far beyond the chart is at its top", () => {
  const { at, top } = ratioScale([1, 1655], 200, 0, 19);
  expect(at(1655)).toBe(at(139));
  expect(at(9.9)).toBeGreaterThan(at(1655));
  expect(top).toBeLessThan(11);
});

test("shares reach to 100 %, or as far as the data", () => {
  expect(shareScale([0.4], 0, 100).at(1)).toBe(100);
  expect(shareScale([1.02], 0, 110).at(1)).toBeCloseTo(100);
});
