import { expect, test } from "vitest";
import { calibrationOf, expectedCoverage } from "./calibration.ts";
import { readObjects } from "./objects.ts";

type Bounded = readonly [value: number, low?: number, high?: number];

/** A row of a SharingReport. Slowdowns are of bursts; the last bound may be missing. */
const row = (
  uid: string,
  retained: { readonly predicted: Bounded; readonly measured: number },
  bursts?: { readonly predicted: Bounded; readonly measured: number },
  day = 5,
) => {
  const [value, retainedLow, retainedHigh] = retained.predicted;
  const [slowdown = 1, low = 1, high] = bursts?.predicted ?? [];
  return {
    pairing: uid,
    ...{ job: { workload: "train" }, service: { workload: "serve" } },
    predicted: {
      ...{ retained: value, retainedLow, retainedHigh, from: bursts ? "model" : "turns" },
      // With queueing: it is no figure that nodes measure.
      slowdown: 9,
      ...(bursts && { bursts: { slowdown, low, high } }),
    },
    measured: {
      ...{ retained: retained.measured, by: "work", seconds: 3600, load: 0.2, others: 0 },
      ...{ policy: "cotenant", mode: "isolated", model: "H200" },
      service: {
        ...{ unit: "burst", perS: 60, p50Us: 1000 * (bursts?.measured ?? 1), soloP50Us: 1000 },
        ...{ p99Us: 2000, soloP99Us: 2000 },
      },
    },
    at: `2026-01-0${day}T00:11:00.000Z`,
    ended: "done",
  };
};
const calibration = (...pairs: object[]) => {
  const report = { apiVersion: "v1", kind: "SharingReport", status: { pairs } };
  return calibrationOf(readObjects(JSON.stringify(report), "pairs.json").pairs);
};
/** In the bounds of retained throughput, which have to be there. */
const of = (measured: number, ...predicted: Bounded) => ({ predicted, measured });
const unslowed = of(1, 1, 1, 1);

test("bounds that hold are counted, each side by itself and both", () => {
  const { retained } = calibration(
    row("1", of(0.7, 0.7, 0.6, 0.8), unslowed),
    row("2", of(0.5, 0.7, 0.6, 0.8), unslowed),
    row("3", of(0.9, 0.7, 0.6, 0.8), unslowed),
    // Bounds are rounded where they are written.
    row("4", of(0.5997, 0.7, 0.6, 0.8), unslowed),
  );
  expect(retained.all).toEqual({ pairs: 4, aboveLow: 0.75, belowHigh: 0.75, within: 0.5 });
  expect(expectedCoverage).toEqual({ each: 0.9, within: expect.closeTo(0.8) });
});

test("slowdowns are compared as nodes measure them, by what was predicted and by day", () => {
  const { slowdown } = calibration(
    row("1", of(0.7, 0.7), of(1.3, 1.2, 1.1, 1.25)),
    row("2", of(0.7, 0.7), of(1.2, 1.2, 1.1, 1.25), 6),
    row("3", of(0.7, 0.7), of(2.2, 2, 1.9, 2.5)),
  );
  expect(slowdown?.byPredicted).toMatchObject([
    { of: "1.10 to 1.25", pairs: 2, predicted: 1.2, measured: 1.25, error: expect.closeTo(0.05) },
    { of: "2.00 or more", pairs: 1, error: expect.closeTo(0.2), bounds: { within: 1 } },
  ]);
  expect(slowdown?.byDay.map(({ of: day, bounds }) => [day, bounds.within])).toEqual([
    ["2026-01-05", 0.5],
    ["2026-01-06", 1],
  ]);
});

test("a service that was faster with a job than solo counts as not slowed, as where it is learned", () => {
  const { slowdown } = calibration(row("1", of(0.7, 0.7), of(0.97, 1, 1, 1.02)));
  expect(slowdown?.bySource).toMatchObject([{ measured: 1, error: 0, bounds: { within: 1 } }]);
});

test("predictions without bounds, or with one of two, are compared and not counted as bounded", () => {
  const { retained, slowdown } = calibration(
    row("1", of(0.6, 0.7)),
    row("2", of(0.6, 0.7, 0.5, 0.8), of(1.2, 1.1, 1)),
  );
  expect(retained.bySource).toMatchObject([
    { of: "model", bounds: { pairs: 1, within: 1 } },
    { of: "turns", pairs: 1, error: expect.closeTo(0.1), bounds: { pairs: 0, within: Number.NaN } },
  ]);
  expect(slowdown).toMatchObject({ all: { pairs: 0 }, bySource: [{ of: "model", pairs: 1 }] });
});

test("without any predicted slowdown there is no table of it", () => {
  expect(calibration(row("1", of(0.6, 0.7))).slowdown).toBeUndefined();
});
