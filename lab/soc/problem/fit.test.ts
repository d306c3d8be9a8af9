import { expect, test } from "vitest";
import { fitSlowdown } from "./fit.ts";
import { interpolated, shareOfLimit } from "./slowdown.ts";

const grid = [10, 20, 30, 40, 50, 60, 70, 80];
const measured = grid.flatMap((own) =>
  grid.map((others) => ({ own, others, slowdown: shareOfLimit(90)(own, others) })),
);

test("a fit is near its points", () => {
  const fit = fitSlowdown(measured, "gpu");
  expect(fit.meanError).toBeLessThan(0.03);
  expect(fit.largestError).toBeLessThan(0.15);
});

test("noise makes it neither fall with demand nor go below 1", () => {
  const noisy = measured.map((one, i) => ({
    ...one,
    slowdown: one.slowdown * (1 + 0.2 * Math.sin(i * 7)),
  }));
  const slowdown = interpolated(fitSlowdown(noisy, "gpu").table);
  for (let own = 0; own <= 100; own += 5)
    for (let others = 0; others <= 100; others += 5) {
      expect(slowdown(own, others)).toBeGreaterThanOrEqual(1);
      expect(slowdown(own + 5, others)).toBeGreaterThanOrEqual(slowdown(own, others) - 1e-12);
      expect(slowdown(own, others + 5)).toBeGreaterThanOrEqual(slowdown(own, others) - 1e-12);
    }
  expect(slowdown(50, 0)).toBe(1);
});

test("too few points, and wrong points, are reported", () => {
  expect(() => fitSlowdown(measured.slice(0, 2), "gpu")).toThrow(
    "gpu: a slowdown takes three measured points at least.",
  );
  const bad = [...measured, { own: -1, others: 0, slowdown: 1 }];
  expect(() => fitSlowdown(bad, "gpu")).toThrow(
    "gpu: -1, 0, 1 is no own demand, others' demand, slowdown.",
  );
});
