// `cotenant cluster simulate` as a person meets it.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { exampleScenario } from "#cluster";
import { UserError } from "#core";
import { dispatch } from "./dispatch.ts";

const folder = mkdtempSync(`${tmpdir()}/cotenant-cluster-`);
afterAll(() => rmSync(folder, { recursive: true }));

let said: string[] = [];
beforeEach(() => {
  said = [];
  vi.spyOn(console, "log").mockImplementation((line) => void said.push(String(line)));
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

const small = `${folder}/small.json`;
writeFileSync(
  small,
  JSON.stringify({
    ...exampleScenario,
    hours: 2,
    gpus: [{ type: "GPU", count: 6, memoryGB: 24 }],
    services: exampleScenario.services.map((one) => ({ ...one, gpus: 2 })),
    jobs: { workloads: ["small-train"], count: 12, medianMinutes: 10, withinHours: 1 },
    schedulers: ["muxflow", "cotenant"],
  }),
);

test("prints a table, and writes figures and a page", async () => {
  const [out, report] = [`${folder}/out.json`, `${folder}/out.html`];
  expect(await dispatch(["cluster", "simulate", small, "--out", out, "--report", report])).toBe(0);
  const lines = said.join("\n").split("\n");
  expect(lines[0]).toMatch(/^scheduler .*mean slowdown.*mean JCT, min.*oversold/);
  expect(lines.slice(1).map((line) => line.split(" ")[0])).toEqual(["muxflow", "cotenant"]);
  const written = JSON.parse(readFileSync(out, "utf8"));
  expect(written.figures.map(({ finished }: { finished: number }) => finished)).toEqual([12, 12]);
  expect(readFileSync(report, "utf8")).toMatch(/^<!doctype html>/);
});

test("--json prints the same as one document; --seed and --scheduler narrow it", async () => {
  await dispatch(["cluster", "simulate", small, "--json", "--seed", "7", "--scheduler", "srtf"]);
  const result = JSON.parse(said.join("\n"));
  expect(result.figures).toHaveLength(1);
  expect(result.figures[0]).toMatchObject({ scheduler: "srtf", seed: 7 });
});

test.each([
  [["cluster", "draw"], /"cluster" can't "draw"/],
  [["cluster", "simulate", small, "more"], /does not know what to do with "more"/],
  [["cluster", "simulate", "/nowhere.json"], /The scenario \/nowhere.json can't be read/],
  [["cluster", "simulate", small, "--scheduler", "best"], /No scheduler is called "best"/],
  [["cluster", "simulate", small, "--report", "/nowhere/x.html"], /can't be written/],
])("%j is refused", async (argv, message) => {
  const fault = await dispatch(argv).catch((thrown: unknown) => thrown);
  expect(fault).toBeInstanceOf(UserError);
  expect((fault as UserError).message).toMatch(message);
});

test("what a scenario reads and is not there is said, and nothing is written", async () => {
  const scenario = `${folder}/trace.json`;
  const trace = { format: "philly", file: "data:pollux/traces/philly.csv" };
  writeFileSync(
    scenario,
    JSON.stringify({ ...exampleScenario, jobs: { workloads: ["small-train"], trace } }),
  );
  const out = `${folder}/none.json`;
  const argv = ["cluster", "simulate", scenario, "--data", folder, "--out", out];
  await expect(dispatch(argv)).rejects.toThrow(
    /reads pollux\/traces\/philly.csv, and .* has no such file/,
  );
  expect(existsSync(out)).toBe(false);
});
