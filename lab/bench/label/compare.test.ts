import { expect, test } from "vitest";
import { type PairSample, rowOf, tableOf } from "./compare.ts";

const S = 1e9;

/** Iterations end evenly, `perS` a second from `from` to `to`. */
const iterations = (from: number, to: number, perS: number): number[] =>
  Array.from({ length: (to - from) * perS }, (_, n) => (from + (n + 1) / perS) * S);

const times = (...ms: readonly number[]): number[] => ms.map((one) => one * 1e6);

/** Solo at 10 iterations a second from 0 to 10 and from 40 to 43, with the service at 6 from 10 to 40. */
const sample: PairSample = {
  ...{ service: "serve", training: "train", seconds: 33, busy: 0.6 },
  figures: {
    ...{ retained: 0.63, by: "work", seconds: 30, load: 0.2, perS: 63, soloPerS: 100 },
    soloBusy: 0.8,
    service: {
      ...{ unit: "burst", perS: 50, p50Us: 1100, p99Us: 3000, soloP50Us: 1000, soloP99Us: 2000 },
    },
  },
  doneNs: [...iterations(0, 10, 10), ...iterations(10, 40, 6), ...iterations(40, 43, 10)],
  solo: [
    { fromNs: 1 * S, toNs: 10 * S },
    { fromNs: 40 * S, toNs: 43 * S },
  ],
  concurrent: { fromNs: 11 * S, toNs: 39 * S },
  requests: { solo: times(1, 1, 1, 2), concurrent: times(1.2, 1.2, 1.2, 3) },
};

test("the training's own rate with the service, over that solo, is what its label has to be", () => {
  const { label, truth, error } = rowOf(sample);
  expect(truth).toMatchObject({ perS: expect.closeTo(6), soloPerS: expect.closeTo(10) });
  expect(truth.retained).toBeCloseTo(0.6);
  expect(truth.soloSeconds).toBeCloseTo(12);
  expect(label).toMatchObject({ retained: 0.63, byKernelTime: expect.closeTo(0.75) });
  expect(error.retained).toBeCloseTo(0.03);
});

test("solo spans count by their length", () => {
  // 10 a second for 9 s, 5 a second for 3 s.
  const doneNs = [...iterations(0, 10, 10), ...iterations(10, 40, 6), ...iterations(40, 43, 5)];
  expect(rowOf({ ...sample, doneNs }).truth.soloPerS).toBeCloseTo(105 / 12);
});

test("a label of the service is compared with the quantiles of its own times", () => {
  const { label, truth, error } = rowOf(sample);
  expect([label.p50, label.p99]).toEqual([1.1, 1.5]);
  expect([truth.p50, truth.p99]).toEqual([expect.closeTo(1.2), expect.closeTo(1.5)]);
  expect([error.p50, error.p99]).toEqual([expect.closeTo(-0.1), expect.closeTo(0)]);
  expect(truth.ms.solo).toEqual({ p50: 1, p99: 2 });
});

test("without times of the service, or without the time of kernels, nothing is made up", () => {
  const { service: _, soloBusy: __, ...figures } = sample.figures;
  const { label, error, missing } = rowOf({ ...sample, figures });
  expect(missing).toContain("no times of the service");
  expect([label.p50, error.p99, label.byKernelTime]).toEqual([Number.NaN, Number.NaN, undefined]);
  expect(error.retained).toBeCloseTo(0.03);
});

test("the table has a line for each pair, and the count of labels within the limit", () => {
  const off = { ...sample, service: "other", figures: { ...sample.figures, retained: 0.5 } };
  const lines = tableOf([rowOf(sample), rowOf(off)]).split("\n");
  expect(lines[1]).toMatch(
    /^serve\+train +0\.630 +0\.600 +\+0\.030 +0\.750 +1\.100 +1\.200 +-0\.100/,
  );
  expect(lines[2]).toMatch(/^other\+train +0\.500 +0\.600 +-0\.100/);
  expect(lines.at(-1)).toBe(
    "Retained: 1 of 2 labels err by at most 0.05; the mean is 0.065, the largest 0.100.",
  );
  expect(tableOf([])).toContain("No pair was compared.");
});

test("a label by waits is none, and the pair is named", () => {
  const figures = { ...sample.figures, by: "waits", seconds: 18 } as const;
  expect(
    tableOf([rowOf(sample), rowOf({ ...sample, figures })])
      .split("\n")
      .at(-1),
  ).toBe("There is no label of serve+train: retained is by waits after 18 s.");
});
