import fc from "fast-check";
import { expect, test } from "vitest";
import { cell, failedCell, result, solo } from "./invented.ts";
import { merge } from "./rows.ts";

test("what was measured twice is one row: means, the widest interval, the spread of the burst p50", () => {
  const [pair] = merge([
    result([cell("mps", 2, 0.7, 1)]),
    result([cell("mps", 3, 0.8, 1.5)]),
    result([failedCell("mps", "out of memory\nmore")]),
  ]);
  expect(pair?.rows).toHaveLength(1);
  expect(pair?.rows[0]).toMatchObject({
    arrangement: "mps",
    runs: 2,
    failures: ["out of memory"],
    spread: expect.closeTo(0.2),
    requests: 6000,
    latency: {
      p99: { value: 2.5, low: expect.closeTo(1.8), high: expect.closeTo(3.3) },
    },
    kept: { value: 0.75 },
    perS: [expect.closeTo(6)],
  });
});

test("other jobs, loads, arrivals or GPUs are other pairs; a load that differs by a hair is not", () => {
  const base = result([solo()]);
  const others = [
    result([solo()], "resnet-graph"),
    result([solo()], "bert-graph", 0.5),
    { ...base, scenario: { ...base.scenario, arrivals: "trace" } },
    { ...base, scenario: { ...base.scenario, bestEffort: [] } },
    { ...base, machine: { ...base.machine, gpu: "NVIDIA H100" } },
  ];
  expect(merge([base, ...others, result([solo()], "bert-graph", 0.2004)])).toHaveLength(6);
});

test("a figure of nothing (NaN) leaves the mean to the other runs", () => {
  const [pair] = merge([
    result([cell("mps", Number.NaN, 0.7)]),
    result([cell("mps", 3, Number.NaN)]),
  ]);
  expect(pair?.rows[0]?.latency.p99?.value).toBe(3);
  expect(pair?.rows[0]?.kept?.value).toBe(0.7);
});

test("rows come in one order, whatever the order of cells", () => {
  const names = [
    "solo",
    "solo@mps",
    "alone",
    "alone@mps",
    "time-slicing",
    "streams",
    "mps",
    "mps-30",
    "mps-priority",
    "off-mps",
    "strict-isolated",
    "strict-isolated:chunkUs=100",
    "strict-mps",
    "floor",
    "floor-mps",
  ];
  fc.assert(
    fc.property(fc.shuffledSubarray(names), (some) => {
      const rows = merge([result(some.map((name) => failedCell(name, "")))])[0]?.rows ?? [];
      expect(rows.map(({ arrangement }) => arrangement)).toEqual(
        names.filter((name) => some.includes(name)),
      );
    }),
  );
});

test("a row's mean lies within its interval, and its spread is not negative", () => {
  const figure = fc.double({ min: 0.01, max: 1e4, noNaN: true });
  fc.assert(
    fc.property(fc.array(fc.tuple(figure, figure), { minLength: 1 }), (runs) => {
      const results = runs.map(([p99, burst]) => result([cell("mps", p99, 0.5, burst)]));
      const row = merge(results)[0]?.rows[0];
      const p99 = row?.latency.p99;
      expect(p99?.low).toBeLessThanOrEqual(p99?.value ?? Number.NaN);
      expect(p99?.high).toBeGreaterThanOrEqual(p99?.value ?? Number.NaN);
      expect(row?.spread).toBeGreaterThanOrEqual(0);
    }),
  );
});
