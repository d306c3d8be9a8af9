import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { dispatch } from "./dispatch.ts";

let folder = "";
let printed: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cotenant-test-soc-"));
  printed = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void printed.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const file = "bench/soc/googlenet-xavier.json";

test("plan says how good it is and writes the picture and the plan", async () => {
  const [svg, out] = [join(folder, "a.svg"), join(folder, "a.json")];
  expect(await dispatch(["soc", "plan", file, "--svg", svg, "--out", out])).toBe(0);
  expect(printed.join("\n")).toMatch(/^3\.121 ms, optimal/);
  expect(readFileSync(svg, "utf8").match(/<title>/g)).toHaveLength(20);
  const plan = JSON.parse(readFileSync(out, "utf8"));
  expect(plan).toMatchObject({ version: 1, optimal: true, priority: { gpu: expect.any(Array) } });
  expect(plan.networks[0].groups).toHaveLength(10);
});

test("compare has the plan last, and nobody is better", async () => {
  expect(await dispatch(["soc", "compare", file, "--json"])).toBe(0);
  const { rows } = JSON.parse(printed.join("\n"));
  const latencies = rows.map((row: { latencyMs: number }) => row.latencyMs);
  expect(Math.min(...latencies)).toBeGreaterThan(0.9999 * latencies.at(-1));
});
