// Latency and throughput over time (bench/live).
import { expect, test } from "vitest";
import { binned, iterationsPerS } from "../../bench/live/binned.ts";
import { overTimeChart } from "../../bench/live/over-time-chart.ts";

const ms = 1e6;
const window = {
  seconds: 2,
  // Two requests in the first half second, one in the third; a bin holds what arrives in it.
  arrivalNs: [100 * ms, 499 * ms, 1_000 * ms],
  latencyNs: [2 * ms, 700 * ms, 3 * ms],
  // 10 a second, and from 1 s on 5.
  doneNs: [
    [
      ...Array.from({ length: 11 }, (_, i) => i * 100 * ms),
      1_200 * ms,
      1_400 * ms,
      1_600 * ms,
    ].concat([1_800 * ms, 2_000 * ms]),
  ],
};

test("a request counts where it arrived, an iteration by its part of the bin", () => {
  const bins = binned(window, 0.5, 10);
  expect(bins.map(({ fromS, requests }) => [fromS, requests])).toEqual([
    [0, 2],
    [0.5, 0],
    [1, 1],
    [1.5, 0],
  ]);
  expect(bins.map(({ p50Ms, p99Ms }) => [p50Ms, p99Ms])).toEqual([
    [2, 700],
    [null, null],
    [3, 3],
    [null, null],
  ]);
  for (const [i, kept] of [1, 1, 0.5, 0.5].entries()) expect(bins[i]?.kept).toBeCloseTo(kept, 6);
  expect(iterationsPerS(window)).toBeCloseTo(7.5, 6);
});

test("a window without best-effort work keeps nothing, and its end is no bin", () => {
  const bins = binned({ ...window, seconds: 1.9, doneNs: [] }, 0.5, 10);
  expect(bins).toHaveLength(3);
  expect(bins.every(({ kept }) => kept === null)).toBe(true);
});

test("the chart draws a line for each arrangement in both panels, and the steps of load", () => {
  const bins = binned(window, 0.5, 10);
  const svg = overTimeChart({
    high: "resnet50-graph",
    bestEffort: "a & b",
    gpu: "GPU",
    binS: 0.5,
    steps: [
      { seconds: 1, ratePerS: 20 },
      { seconds: 1, ratePerS: 400 },
    ],
    arrangements: [
      { name: "solo", bins: bins.map((bin) => ({ ...bin, kept: null })) },
      { name: "strict-isolated", bins },
    ],
  });
  expect(svg.match(/stroke-linejoin="round"/g)).toHaveLength(4);
  expect(svg.match(/400 requests\/s<\/text>/g)).toHaveLength(2);
  expect(svg).toContain("beside a &amp; b while");
  expect(svg).not.toMatch(/NaN|undefined|Infinity|null/);
});
