// Invented results for the tests of this folder.

import fc from "fast-check";
import type { Ratio } from "#measure";
import type { BenchResult, Cell } from "../scenario/result.ts";

const ratio = (value: number, low = value, high = value): Ratio => ({
  value,
  low,
  high,
  rounds: [value],
});

/** Intervals are 10 % to each side. */
export function cell(arrangement: string, p99: number, kept: number, burstP50 = 1): Cell {
  return {
    arrangement,
    status: "ok",
    high: {
      requests: 3000,
      latencyMs: { p50: 3, p95: 5, p99: 6 * p99 },
      burstMs: { p50: 3 * burstP50, p99: 4 },
      latency: { p50: ratio(1.03), p95: ratio(1.1), p99: ratio(p99, p99 * 0.9, p99 * 1.1) },
      burst: { p50: ratio(burstP50), p99: ratio(1.5) },
      throughput: ratio(1),
      activeShare: ratio(0.2),
    },
    bestEffort: {
      jobs: [{ name: "gpt2-train", perS: 8 * kept, retained: ratio(kept) }],
      retained: ratio(kept),
      retainedOfPossible: kept / 0.8,
      costSavings: 2 * kept,
    },
    gpu: { smActivity: 0.62, dramActivity: 0.31, smClockMHz: 1755, powerW: 512.4 },
  };
}

export function solo(): Cell {
  const { bestEffort: _, ...rest } = cell("solo", 1, 0);
  return rest;
}

export function alone(): Cell {
  const { high: _, bestEffort, ...rest } = cell("alone", 1, 1);
  return bestEffort
    ? { ...rest, bestEffort: { ...bestEffort, retainedOfPossible: undefined } }
    : rest;
}

export const failedCell = (arrangement: string, reason: string): Cell => ({
  arrangement,
  status: "failed",
  reason,
});

export function result(cells: readonly Cell[], high = "bert-graph", load = 0.2): BenchResult {
  const job = (name: string) => ({ name, command: `python3 ${name}.py`, facts: { label: name } });
  return {
    version: 2,
    kind: "bench",
    date: "2026-11-21T10:00:00Z",
    machine: { gpu: "NVIDIA H200", driver: "580.159", cpu: "Xeon", cpus: 16 },
    commit: "0123456789abcdef-dirty",
    command: "cotenant-lab bench bert-graph+gpt2-train",
    note: "",
    scenario: {
      name: "bert",
      high: job(high),
      bestEffort: [job("gpt2-train")],
      load,
      ratePerS: 66,
      arrivals: "poisson",
      rounds: 3,
      windowSeconds: 15,
    },
    cells,
  };
}

/** Names and reasons with characters that have a meaning in Markdown or SVG. */
export const nasty = fc.oneof(
  fc.string({
    unit: fc.constantFrom(
      ..."|\\`*_<>&\"'[]()#-]]> \t\r\n\0aZ×",
      "\u001b",
      "\ud800",
      "\uffff",
      "\u{1f600}",
      "floor",
      "mps",
    ),
  }),
  fc.constantFrom("toString", "__proto__", "strict-isolated:chunkUs=100,resumeDelayUs=0"),
);
