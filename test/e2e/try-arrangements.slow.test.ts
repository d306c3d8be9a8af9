// All arrangements of `cotenant try`: minutes.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { TryResult } from "#measure";
import { emptyMachine, temporaryDirectory } from "./machine.ts";

import { PATIENCE_MS, rowOf, service, short, started, training } from "./trying.ts";

const choices = ["cotenant", "mps", "time-slicing", "no-sharing", "unclear"];

test("two unmodified commands are measured in every arrangement, and a verdict follows", {
  timeout: PATIENCE_MS,
}, async () => {
  const machine = emptyMachine();
  const out = join(temporaryDirectory(), "result.json");
  const jobs = ["--", ...service, "--", ...training];
  const { status, stdout, stderr } = await started(
    machine,
    ...short,
    "--json",
    "--out",
    out,
    ...jobs,
  ).ended;
  expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
  const result = JSON.parse(stdout) as TryResult;
  expect(JSON.parse(readFileSync(out, "utf8"))).toEqual(result);
  expect(result.rows.map(({ title }) => title)).toEqual([
    "service alone",
    "training alone",
    "service alone, MPS",
    "time slicing",
    "MPS with priority",
    "Cotenant, isolated",
    "Cotenant, mps",
  ]);
  for (const name of ["solo", "time-slicing", "cotenant-isolated", "cotenant-mps"]) {
    expect(rowOf(result, name).bursts?.requests, name).toBeGreaterThan(0);
    expect(rowOf(result, name).bursts?.p99Ms, name).toBeGreaterThan(0);
  }
  expect(rowOf(result, "solo").bursts?.p99.value).toBe(1);
  expect(rowOf(result, "time-slicing").retained?.value).toBeGreaterThan(0);
  expect(result).toMatchObject({ unit: "launches", judged: "bursts", skipped: [], strangers: [] });
  expect(choices).toContain(result.verdict.choice);
  expect(result.verdict.sentence).not.toBe("");
  expect(stderr).toContain("try: mode mps, round 2 of 2, the service alone\n");
  expect(readdirSync(machine.directory)).toEqual([]);
});
