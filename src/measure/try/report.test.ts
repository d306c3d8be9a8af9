import { describe, expect, test } from "vitest";
import type { Ratio } from "../figures/stats.ts";
import type { TryRow } from "./figures.ts";
import { tryReport } from "./report.ts";
import type { TryResult } from "./try.ts";
import type { WayName } from "./ways.ts";

const ratio = (value: number, low: number, high: number, ...rounds: number[]): Ratio => ({
  ...{ value, low, high, rounds },
});

const tried = (change: Partial<TryResult>): TryResult => ({
  version: 1,
  kind: "try",
  date: "",
  machine: { gpu: "", driver: "", cpu: "", cpus: 2 },
  command: "",
  seconds: 5,
  rounds: 3,
  accepted: 0.2,
  skipped: [],
  strangers: [],
  rows: [],
  unit: "launches",
  judged: "bursts",
  noise: {
    noisy: false,
    spread: undefined,
    cpu: { busyBefore: 0, stealShare: 0, waitShare: 0 },
    sentence: "",
  },
  verdict: { choice: "unclear", arrangement: undefined, slo: undefined, sentence: "" },
  ...change,
});

const commandsFor = (arrangement: WayName, slo?: string) =>
  tryReport(tried({ verdict: { choice: "cotenant", arrangement, slo, sentence: "" } }))
    .split("\n")
    .filter((line) => line.startsWith("    cotenant"))
    .map((line) => line.trim());

test("the commands start what was measured", () => {
  expect(commandsFor("time-slicing")).toEqual([]);
  expect(commandsFor("mps-priority")[0]).toBe("cotenant up --mode mps --policy off");
  expect(commandsFor("cotenant-isolated", "slowdown=20%")).toEqual([
    "cotenant up --mode isolated",
    "cotenant run --class high --slo slowdown=20% -- SERVICE",
    "cotenant run --class best-effort -- TRAINING",
  ]);
  expect(commandsFor("strict-mps")[0]).toBe("cotenant up --mode mps --policy strict");
});

describe("why an arrangement with Cotenant is slow", () => {
  const burst = (lastedUs: number) => ({
    ...{ lastedUs, waitedUs: 1300, cause: "up to 1.3 ms of train was queued ahead" },
    remedy: "chunks",
  });
  const rowOf = (high: number): TryRow => ({
    ...{ name: "cotenant-isolated", title: "Cotenant, isolated", app: undefined, perS: 1 },
    bursts: {
      ...{ requests: 900, p50Ms: 1, p99Ms: 2, p50: ratio(1, 1, 1) },
      p99: ratio(2.05, 1.1, high, 1.04, 2.12, 1.1),
    },
    retained: ratio(0.87, 0.8, 0.9),
    slowest: [[burst(1100)], [burst(4100), burst(3000)], []],
  });
  const words = (high: number) => tryReport(tried({ rows: [rowOf(high)] })).split("\n");

  test("the slowest round's longest burst tells", () => {
    expect(words(2.12)).toContain(
      "Why slow with Cotenant, isolated: the p99 of its rounds was 1.04x, 2.12x, 1.10x. The longest burst of the slowest round took 4.10 ms and waited 1.30 ms for the GPU: up to 1.3 ms of train was queued ahead. What helps: chunks.",
    );
  });

  test("one that keeps the limit is not explained", () => {
    expect(words(1.15).filter((line) => line.startsWith("Why"))).toEqual([]);
  });
});
