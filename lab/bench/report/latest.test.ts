import { expect, test } from "vitest";
import { cell, failedCell, result } from "./invented.ts";
import { latest } from "./latest.ts";
import { merge } from "./rows.ts";

const on = (day: string, cells: Parameters<typeof result>[0], high = "bert-graph") => ({
  ...result(cells, high),
  date: `2026-11-${day}T10:00:00Z`,
});

test("of each arrangement only the runs of its last day count, and those of one day still make a mean", () => {
  const kept = latest([
    on("20", [cell("mps", 6, 0.9), cell("strict-mps", 1.5, 0.7)]),
    on("22", [cell("strict-mps", 1.2, 0.7)]),
    on("22", [cell("strict-mps", 1.0, 0.7)]),
  ]);
  const rows = merge(kept)[0]?.rows ?? [];
  expect(rows.map((row) => [row.arrangement, row.runs, row.latency.p99?.value])).toEqual([
    ["mps", 1, 6],
    ["strict-mps", 2, 1.1],
  ]);
});

test("another pair's later run does not hide an older one", () => {
  const older = on("20", [cell("strict-mps", 1.5, 0.7)]);
  const newer = on("22", [cell("strict-mps", 1.2, 0.7)], "resnet50-graph");
  expect(latest([older, newer])).toEqual([older, newer]);
});

test("a later run that failed does not hide the one that succeeded", () => {
  const kept = latest([
    on("20", [cell("mps", 6, 0.9)]),
    on("22", [failedCell("mps", "out of memory")]),
  ]);
  expect(kept.map(({ cells }) => cells.map(({ status }) => status))).toEqual([["ok"]]);
});

test("what never succeeded is still shown as failed", () => {
  expect(latest([on("22", [failedCell("mps", "out of memory")])])).toHaveLength(1);
});
