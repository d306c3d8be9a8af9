import { expect, test } from "vitest";
import { figuresOf } from "./figures.ts";
import type { TryWindow } from "./stage.ts";
import type { WindowName } from "./ways.ts";

/** A window of a second, with this much work of the training. */
const window = (
  name: WindowName,
  launches: number,
  gpuSeconds: number,
  divided = 0,
): TryWindow => ({
  name,
  mode: "isolated",
  bursts: [],
  app: undefined,
  slowest: [],
  work: {
    from: { atNs: 0, launches: 0, gpuSeconds: 0, dividedProducts: 0 },
    to: { atNs: 1e9, launches, gpuSeconds, dividedProducts: divided },
  },
  stepsPerS: undefined,
});

const keptBy = (windows: readonly TryWindow[]) => {
  const { unit, rows } = figuresOf(windows);
  return { unit, kept: rows.find(({ name }) => name === "cotenant-isolated")?.retained?.value };
};

test("launches are compared with the mean of both windows alone", () => {
  const kept = keptBy([
    window("alone", 900, 0.4),
    window("cotenant-isolated", 750, 0.75),
    window("alone", 1100, 1),
  ]);
  expect(kept).toEqual({ unit: "launches", kept: 0.75 });
});

test("GPU time is compared with the last window alone, because in the first one it is not known yet", () => {
  const kept = keptBy([
    window("alone", 900, 0.4),
    window("cotenant-isolated", 2000, 0.75, 10),
    window("alone", 1100, 1),
  ]);
  expect(kept).toEqual({ unit: "gpuSeconds", kept: 0.75 });
});
