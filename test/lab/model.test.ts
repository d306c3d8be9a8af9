// The model as a person meets it: from profiles in a folder to a table.
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, test } from "vitest";
import { parseResult } from "#bench";
import { dispatch, cotenant as product } from "#cli";
import { laboratory } from "#lab";
import { formatProfile, ProfileStore, type WorkloadProfile } from "#profile";
import { person } from "../cli/person.ts";
import { workload } from "../gpu/example.ts";

const { folder, write, cotenant, refusal } = person("model", laboratory);

describe("model", () => {
  const store = new ProfileStore(`${folder}/store`);
  const kernels = (count: number, us: number) => Array.from({ length: count }, () => ({ us }));
  const request = workload("request", kernels(50, 49), { kind: "inference" });
  const training = workload("training", kernels(100, 20));
  const v100 = (of: WorkloadProfile): WorkloadProfile => ({
    ...of,
    gpu: { name: "Tesla V100-SXM2-16GB", computeCapability: "7.0", sms: 80 },
  });
  const files = [request, training, v100(training)].map((one) => store.write(one));
  const [high = "", bestEffort = "", other = ""] = files;
  const short = ["--requests", "60", "--rounds", "2", "--arrangement", "strict-isolated"];
  const named = ["--profiles", `${folder}/store`];

  test("prints the bench's table, and leaves its result and chart behind", async () => {
    const [out, svg] = [`${folder}/result.json`, `${folder}/chart.svg`];
    const table = await cotenant(
      ...["model", `${high}+${bestEffort}`, ...short, "--out", out, "--chart", svg],
    );
    expect(table).toMatch(/^request beside training, load 0\.2\n/);
    expect(table).toMatch(/modelled H200, driver model;/);
    expect(table).toMatch(/\nstrict-isolated +\d+ +1\.\d\dx +1\.\d\dx .* 1 run\n/);
    const { cells, scenario } = parseResult(readFileSync(out, "utf8"), out);
    expect(cells.map(({ arrangement }) => arrangement)).toEqual([
      ...["solo", "alone", "strict-isolated"],
    ]);
    expect(scenario.high.command).toBe(high);
    expect(readFileSync(svg, "utf8")).toMatch(/^<svg/);
  });

  test("the result says which rules were in force, those set by hand among them", async () => {
    const out = `${folder}/rules.json`;
    const ruled = ["--arrangement", "strict-isolated:chunkUs=123", "--arrangement", "time-slicing"];
    await cotenant("model", high, bestEffort, ...short, ...ruled, "--out", out);
    const { cells } = parseResult(readFileSync(out, "utf8"), out);
    const rulesIn = (name: string) => cells.find(({ arrangement }) => arrangement === name)?.rules;
    expect(rulesIn("strict-isolated:chunkUs=123")).toEqual({
      ...rulesIn("strict-isolated"),
      chunkUs: 123,
    });
    expect(rulesIn("strict-isolated")?.chunkUs).not.toBe(123);
    for (const name of ["solo", "alone", "time-slicing"]) expect(rulesIn(name)).toBeUndefined();
  });

  test("files and names, with + or blanks between, mean the same; so does the bench's --from", async () => {
    const out = `${folder}/again.json`;
    const table = (...given: string[]) => cotenant("model", ...given, ...short);
    const first = await table(`${high}+${bestEffort}`, "--out", out);
    expect(await table(high, bestEffort)).toBe(first);
    expect(await table("request+training", ...named, "--gpu", "H200")).toBe(first);
    expect(await table(`request+${bestEffort}`, ...named)).toBe(first);
    expect(await cotenant("bench", "--from", out)).toBe(first);
  });

  test("an objective is learnt about before the window, and gives what it leaves", async () => {
    const out = `${folder}/slo.json`;
    await cotenant(
      ...["model", high, bestEffort, "--graph", "--slo", "slowdown=80%", "--learn", "12"],
      ...["--requests", "300", "--rounds", "1", "--seconds", "4", "--out", out],
      ...["--arrangement", "strict-isolated", "--arrangement", "cotenant-isolated"],
    );
    const { cells, scenario } = parseResult(readFileSync(out, "utf8"), out);
    expect(scenario.slo).toEqual(["slowdown=80%"]);
    const [strict, ours] = ["strict-isolated", "cotenant-isolated"].map((name) =>
      cells.find(({ arrangement }) => arrangement === name),
    );
    // The same arrivals in the window that counts.
    expect(ours?.high?.requests).toBe(strict?.high?.requests);
    expect(ours?.bestEffort?.retained.value).toBeGreaterThan(
      (strict?.bestEffort?.retained.value ?? Number.NaN) + 0.01,
    );
    expect(ours?.high?.burst.p99.value).toBeLessThan(1.8);
  });

  describe("a scenario of the bench", () => {
    const scenario = (file: string, more: object = {}) =>
      write(
        file,
        JSON.stringify({
          high: "resnet50-graph",
          bestEffort: ["bert-train"],
          arrivals: "steps:1s@0.1,1s@0.5",
          arrangements: ["strict-isolated"],
          ...more,
        }),
      );
    const own = new ProfileStore(`${folder}/jobs`);
    own.write({ ...request, name: "resnet50-graph" });
    own.write({ ...training, name: "bert-train" });
    const jobs = ["--profiles", `${folder}/jobs`];

    test("is modelled from the profiles of its jobs, who is called so as a graph", async () => {
      const out = `${folder}/steps.json`;
      const table = await cotenant("model", scenario("steps.scenario.json"), ...jobs, "--out", out);
      expect(table).toMatch(/^resnet50-graph beside bert-train, steps\n/);
      expect(table).toContain("50 kernels as one graph");
      expect(table).toContain("Step by step");
      const { cells } = parseResult(readFileSync(out, "utf8"), out);
      expect(cells.map(({ arrangement }) => arrangement)).toContain("strict-isolated");
    });

    test("is found by its name, too", async () => {
      expect(await refusal("model", "load-step", ...named)).toContain(
        "There is no profile resnet50-graph, neither a file nor a name in",
      );
    });

    test.each([
      [
        [],
        "There is no profile resnet50-graph. Give a file, or the folder of names with --profiles",
      ],
      [[...jobs, "--graph"], "--graph: the scenario"],
      [[...jobs, "--arrivals", "closed"], "--arrivals: the scenario"],
    ])("%j is refused in a sentence", async (given, says) => {
      expect(await refusal("model", scenario("one.json"), ...given)).toContain(says);
    });

    test("what is wrong in it is said", async () => {
      const bad = scenario("bad.json", { lood: 0.2 });
      expect(await refusal("model", bad, ...jobs)).toContain(
        "bad.json, line 1, lood: does not belong there.",
      );
    });
  });

  test.each([
    [[high, bestEffort, "--slo", "fast"], "neither p99=TIME nor slowdown=PERCENT"],
    [["request+training"], "There is no profile request. Give a file, or"],
    [["request+train", ...named], "There is no profile train, neither a file nor a name in"],
    [["request", ...named], '"model" needs a best-effort job beside the high one.'],
    [["request+training", ...named], "training has profiles of H200 and Tesla V100-SXM2-16GB."],
    [[high, other], "training was profiled on Tesla V100-SXM2-16GB; it says nothing of its speed"],
    [[high, bestEffort, "--gpu", "V100"], "request was profiled on H200; it says nothing"],
    [[high, bestEffort, "--gpu", "K80"], '--gpu: "K80" is not one of V100,'],
    [[high, bestEffort, "--arrangement", "fair-mps"], 'No arrangement is called "fair-mps".'],
    [[high, bestEffort, "--arrangement", "solo@streams"], 'No arrangement is called "solo@'],
    [[high, bestEffort, "--arrangement", "strict-mps:chunk=1"], 'No rule is called "chunk".'],
    [[high, bestEffort, "--load", "1.5"], "a load of 1.5 is impossible"],
    [[high, bestEffort, "--arrivals", "now"], '"now" is no kind of arrivals.'],
    [[high, bestEffort, "--arrivals", "trace:/nonexistent?column=t&unit=s"], "can't be read"],
    [[high, bestEffort, "--rounds", "1000001"], "is not a whole number from 1 to 1000."],
    [[high, bestEffort, "--seed", "-1"], '--seed: "-1" is not a whole number'],
    [[high, write("broken.json", '{"version":1}')], "broken.json"],
    [[high, ...Array(17).fill(bestEffort)], "17 best-effort jobs on one GPU; "],
  ])("%j is refused in a sentence", async (given, says) => {
    expect(await refusal("model", ...given)).toContain(says);
  });
});

const data = `${process.env.COTENANT_DATA ?? "test/data"}/orion/model_kernels`;

test("all that Orion published is imported at once", async () => {
  const of = readdirSync(data).filter((file) => /_(fwd|fb1)\.csv$/.test(file));
  const out = `${folder}/all`;
  const paths = of.map((file) => `${data}/${file}`);
  expect(
    await dispatch(product, ["profile", "import", ...paths, "--from", "orion", "--out", out]),
  ).toBe(0);
  const names = new ProfileStore(out).list().map(({ name }) => name);
  expect(names.sort()).toEqual(of.map((file) => basename(file, ".csv")).sort());
  const pair = ["model", "bert_2_fwd+resnet50_32_fb1", "--profiles", out, "--requests", "20"];
  const table = await cotenant(...pair, "--rounds", "1", "--arrangement", "strict-mps");
  expect(table).toContain("modelled V100");
});

describe("what is too much to model is refused before it fills the memory", () => {
  const high = write("high.json", formatProfile(workload("high", [{ us: 500 }])));
  const pair = ["model", `${high}+${high}`, "--rounds", "1"];
  const short = write(
    "short.json",
    formatProfile({ ...workload("short", [{ us: 500 }]), soloNs: 1 }),
  );
  const long = write("long.json", formatProfile(workload("long", [{ us: 1e15 }])));
  test.each([
    [
      [...pair, "--seconds", "1e12", "--requests", "1e7"],
      /^A window of \d+(\.\d+)?(e\+12)? s, .* too long to model: at most 3600 s\./,
    ],
    [
      [...pair, "--seconds", "3000", "--requests", "1e7", "--load", "1"],
      /^A window of .* s may have \d+ requests, too many to model: at most 1000000\./,
    ],
    [[...pair, "--arrivals", "steps:9999999s@0.1"], /too long to model: at most 3600 s\./],
    [
      ["model", `${short}+${high}`],
      /^The profile short contradicts itself: its kernels add up to 0\.500 ms/,
    ],
    [
      ["model", `${high}+${long}`],
      /^The profile long takes [\d.e+]{1,8} ns alone: .* from 10 us to 180 s\./,
    ],
  ])("%j", async (argv, says) => {
    expect(await refusal(...argv)).toMatch(says);
  });
});
