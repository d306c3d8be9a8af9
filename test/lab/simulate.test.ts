// `cotenant-lab simulate` as a person meets it.
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { exampleScenario } from "#cluster";
import { laboratory } from "#lab";
import { person } from "../cli/person.ts";

const { folder, write, cotenant, refusal } = person("simulate", laboratory);

const small = write("small.json", {
  ...exampleScenario,
  hours: 2,
  gpus: [{ type: "GPU", count: 6, memoryGB: 24 }],
  services: exampleScenario.services.map((one) => ({ ...one, gpus: 2 })),
  jobs: { workloads: ["small-train"], count: 12, medianMinutes: 10, withinHours: 1 },
  schedulers: ["muxflow", "cotenant"],
});

test("prints a table, and writes figures and a page", async () => {
  const [out, report] = [`${folder}/out.json`, `${folder}/out.html`];
  const printed = await cotenant("simulate", small, "--out", out, "--report", report);
  const lines = printed.split("\n");
  expect(lines[0]).toMatch(/^scheduler .*mean slowdown.*mean JCT, min.*oversold/);
  expect(lines.slice(1, lines.indexOf("")).map((line) => line.split(" ")[0])).toEqual([
    "muxflow",
    "cotenant",
  ]);
  expect(printed).not.toContain("did not end");
  expect(lines.at(-2)).toMatch(/^Take (muxflow|cotenant) /);
  expect(lines.at(-1)).toMatch(/^Slowdown: of requests, .* JCT: /);
  const written = JSON.parse(readFileSync(out, "utf8"));
  expect(written.figures.map(({ finished }: { finished: number }) => finished)).toEqual([12, 12]);
  expect(readFileSync(report, "utf8")).toMatch(/^<!doctype html>/);
});

test("--json prints the same as one document; --seed and --scheduler narrow it", async () => {
  const narrowed = ["--json", "--seed", "7", "--scheduler", "srtf"];
  const result = JSON.parse(await cotenant("simulate", small, ...narrowed));
  expect(result.figures).toHaveLength(1);
  expect(result.figures[0]).toMatchObject({ scheduler: "srtf", seed: 7 });
});

test.each([
  [["simulate", small, "more"], /does not know what to do with "more"/],
  [["simulate", "/nowhere.json"], /The scenario \/nowhere.json can't be read/],
  [["simulate", small, "--scheduler", "best"], /No scheduler is called "best"/],
  [["simulate", small, "--report", "/nowhere/x.html"], /can't be written/],
])("%j is refused", async (argv, message) => {
  expect(await refusal(...argv)).toMatch(message);
});

test("what a scenario reads and is not there is said, and nothing is written", async () => {
  const trace = { format: "philly", file: "data:pollux/traces/philly.csv" };
  const jobs = { workloads: ["small-train"], trace };
  const scenario = write("trace.json", { ...exampleScenario, jobs });
  const out = `${folder}/none.json`;
  expect(await refusal("simulate", scenario, "--data", folder, "--out", out)).toMatch(
    /reads pollux\/traces\/philly.csv, and .* has no such file/,
  );
  expect(existsSync(out)).toBe(false);
});
