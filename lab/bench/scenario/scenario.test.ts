import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, describe, expect, test } from "vitest";
import { readScenario } from "./scenario.ts";

const folder = mkdtempSync(`${tmpdir()}/cotenant-scenario-`);
afterAll(() => rmSync(folder, { recursive: true }));

const folders = { catalogue: `${folder}/jobs.json`, scenarios: folder };
writeFileSync(
  folders.catalogue,
  JSON.stringify({
    serve: { run: "python3 {workloads}/serve.py", memory: "2GiB" },
    train: { run: ["python3", "a file with blanks.py"] },
  }),
);

function write(json: unknown): string {
  const path = `${folder}/written.json`;
  writeFileSync(path, typeof json === "string" ? json : JSON.stringify(json));
  return path;
}

const pair = { high: "serve", bestEffort: "train" };
const read = (json: unknown, changes = {}) => readScenario(write(json), changes, folders);

test("a pair of names is a scenario with the usual arrangements", () => {
  const scenario = readScenario("serve+train+train", { load: 0.3 }, folders);
  expect(scenario.high).toEqual({
    name: "serve",
    run: ["python3", "{workloads}/serve.py"],
    memory: 2 * 2 ** 30,
    startsAlone: false,
    profile: undefined,
  });
  expect(scenario.bestEffort.map(({ name }) => name)).toEqual(["train", "train"]);
  expect(scenario.arriving).toEqual({ kind: "poisson", rate: 0.3 });
  expect(scenario.arrangements.map(({ name }) => name).slice(0, 3)).toEqual([
    "solo",
    "alone",
    "floor",
  ]);
});

test("the command line changes a file's scenario", () => {
  const scenario = read({ ...pair, rounds: 5 }, { rounds: 2, arrangements: ["solo", "mps-30"] });
  expect(scenario.rounds).toBe(2);
  expect(scenario.arrangements.map(({ name }) => name)).toEqual(["solo", "alone", "mps-30"]);
});

test("jobs that have a profile in the folder get it", () => {
  writeFileSync(
    `${folder}/serve.json`,
    '{"name":"serve","gpu":{"name":"NVIDIA H200"},"kernels":[]}',
  );
  const { high, bestEffort } = read(pair, { profiles: folder });
  expect(high.profile).toBe(`${folder}/serve.json`);
  expect(bestEffort.map(({ profile }) => profile)).toEqual([undefined]);
  expect(read(pair).high.profile).toBeUndefined();
  const other = '{"name":"serve","gpu":{"name":"Tesla T4"},"kernels":[]}';
  writeFileSync(`${folder}/another.json`, other);
  expect(() => read(pair, { profiles: folder })).toThrow(
    /^serve has profiles of NVIDIA H200 and Tesla T4 in/,
  );
});

test("objectives come from the file, or from the command line instead", () => {
  const slo = ["slowdown=10%", "p99=5ms"];
  expect(read(pair).slo).toEqual([]);
  expect(read({ ...pair, slo }).slo).toEqual(slo);
  expect(read({ ...pair, slo }, { slo: ["p99=1ms"] }).slo).toEqual(["p99=1ms"]);
});

test("a trace's path is relative to the scenario", () => {
  expect(read({ ...pair, arrivals: "trace:t.csv?column=t&unit=ms", load: 0.4 }).arriving).toEqual({
    kind: "trace",
    trace: { path: `${folder}/t.csv`, column: "t", unit: "ms", rate: 0.4 },
  });
});

describe("one sentence about", () => {
  test.each([
    ["an unknown job", { ...pair, high: "srve" }, /no job is called "srve"/],
    ["an impossible load", { ...pair, load: 1.2 }, /a load of 1.2 is impossible/],
    ["an impossible step", { ...pair, arrivals: "steps:5s@0.2,5s@1.5" }, /load of 1.5 is imposs/],
    ["a step of nothing", { ...pair, arrivals: "steps:5s@0" }, /step's load of 0 is not above 0/],
    [
      "a load of nothing",
      { ...pair, load: 0 },
      /written\.json, line 1, load: is 0, not a number above 0/,
    ],
    ["unknown arrivals", { ...pair, arrivals: "posson" }, /"posson" is no kind of arrivals/],
    ["an unknown key", { ...pair, bestefort: "train" }, /line 1, bestefort: does not belong there/],
    ["no best-effort job", { high: "serve" }, /bestEffort: is missing/],
    ["an unknown arrangement", { ...pair, arrangements: ["mpss"] }, /No arrangement .* "mpss"/],
    ["an unknown rule", { ...pair, arrangements: ["strict-mps:chunk=1"] }, /No rule .* "chunk"/],
    ["a thread share beyond 100", { ...pair, arrangements: ["mps-130"] }, /"mps-130"/],
    [
      "rounds that are none",
      { ...pair, rounds: "three" },
      /rounds: is "three", not a number above 0/,
    ],
    ["objectives in one text", { ...pair, slo: "p99=1ms" }, /slo: is "p99=1ms", not a list/],
    ["an objective of nothing", { ...pair, slo: ["p98=1ms"] }, /neither p99=TIME nor slowdown/],
    ["a bad size", { ...pair, high: { run: "x", memory: "2 gigs" } }, /"2 gigs" is not a size/],
    ["no JSON", "{", /written\.json, line 1: it ends early/],
    ["a JSON list", "[]", /written\.json: it is a list, not an object/],
  ])("%s", (_, json, message) => {
    expect(() => read(json)).toThrow(message);
  });

  test("a scenario that is not there", () => {
    expect(() => readScenario("nowhere", {}, folders)).toThrow(/There is no scenario .*nowhere/);
  });
});
