// Predictions as a person meets them: measured colocations in a file, a model from them, a ranking.
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { laboratory } from "#lab";
import { ProfileStore } from "#profile";
import { person } from "../cli/person.ts";
import { workload } from "../gpu/example.ts";

const { folder, write, cotenant, refusal, noted } = person("predict", laboratory);

/** Jobs that take turns: each keeps what the other's part of the time leaves it. */
const busy = { light: 40, small: 55, middle: 68, large: 81, full: 95 } as const;
const names = Object.keys(busy) as (keyof typeof busy)[];
const keeps = (one: keyof typeof busy, other: keyof typeof busy) =>
  Math.min(1, 100 / (busy[one] + busy[other]));
const measured = {
  version: 1,
  source: "invented",
  workloads: Object.fromEntries(
    names.map((name) => [name, { smBusy: busy[name], soloThroughput: 10 }]),
  ),
  colocations: names.flatMap((a, i) =>
    names.slice(i).map((b) => ({
      clients: [
        { workload: a, retained: keeps(a, b) },
        { workload: b, throughput: 10 * keeps(b, a) },
      ],
    })),
  ),
};
const data = write("measured.json", measured);
const model = `${folder}/model.json`;
const train = () =>
  cotenant("predict", "train", "--data", data, "--metric", "smBusy", "--out", model);

describe("predict train", () => {
  test("says meanwhile how far it is, which is no part of what it prints", async () => {
    expect(await train()).not.toContain("learning");
    const [begin, ...parts] = noted();
    expect(begin).toBe("predict: learning from 15 colocations");
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts)
      expect(part).toMatch(/^predict: learning from 15 colocations, \d+ %$/);
  });

  test("writes a model and says what is in it", async () => {
    expect(await train()).toBe(`${model}: mixed, from 15 colocations and 1 metrics (smBusy)`);
    const { provenance } = JSON.parse(readFileSync(model, "utf8"));
    expect(provenance).toMatchObject({ source: "invented", colocations: 15, seed: 0 });
  });

  test.each([
    { argv: ["train", "--data", data], says: '"predict train" needs --out FILE.' },
    { argv: ["train", "--out", model], says: '"predict train" needs --data FILE.' },
    {
      argv: ["guess"],
      says: '"predict" can\'t do "guess". Known: collect, train, rank, evaluate.',
    },
    {
      argv: ["train", "now", "--out", model],
      says: '"predict train" does not know what to do with "now".',
    },
    {
      argv: ["train", "--data", data, "--out", model, "--metric", "name"],
      says: 'No metric is called "name".',
    },
    {
      argv: ["train", "--data", data, "--out", model, "--metric", "dramThroughput"],
      says: "light has no dramThroughput (%), which this model needs.",
    },
    { argv: ["train", "--data", data, "--out", `${folder}/no/m.json`], says: "can't be written" },
    {
      argv: ["evaluate", "--data", data, "--learners", "oracle"],
      says: 'No learner is called "oracle".',
    },
    { argv: ["rank", "--target", "small"], says: '"predict rank" needs --model FILE.' },
  ])("$says", async ({ argv, says }) => {
    expect(await refusal("predict", ...argv)).toContain(says);
  });

  test("a bad table leaves no model behind", async () => {
    const bad = write("bad.json", {
      ...measured,
      workloads: { ...measured.workloads, full: { smBusy: -3 } },
    });
    const out = `${folder}/none.json`;
    expect(await refusal("predict", "train", "--data", bad, "--out", out)).toBe(
      `${bad}, line 1, workloads.full.smBusy: is -3, not a number of 0 or more.`,
    );
    expect(existsSync(out)).toBe(false);
  });
});

describe("predict rank", () => {
  test("the job that leaves most comes first", async () => {
    await train();
    const text = await cotenant(
      "predict",
      "rank",
      "--model",
      model,
      "--data",
      data,
      "--target",
      "large",
      "--candidates",
      "full,small",
      "--candidates",
      "light",
    );
    expect(text.split("\n").map((line) => line.split(" ")[0])).toEqual([
      "candidate",
      "light",
      "small",
      "full",
    ]);
    expect(noted()).toEqual([]);
  });

  test("as JSON, beside others, and what is unlike all that was learned is said", async () => {
    await train();
    const store = `${folder}/profiles`;
    const profile = workload("strange", [{ us: 100, sms: 66 }], {
      smBusy: 0.00001,
      soloNs: 200_000,
    });
    new ProfileStore(store).write(profile);
    const text = await cotenant(
      "predict",
      "rank",
      "--model",
      model,
      "--data",
      data,
      "--profiles",
      store,
      "--target",
      "strange",
      "--with",
      "small",
      "--candidates",
      "middle",
      "--json",
    );
    const { ranked } = JSON.parse(text);
    expect(ranked).toHaveLength(1);
    expect(ranked[0].clients.map(({ name }: { name: string }) => name)).toEqual([
      "strange",
      "small",
      "middle",
    ]);
    expect(ranked[0].familiar).toBe(false);
    expect(noted().join()).toContain("unlike everything this model learned from");
  });

  test("nobody to choose from, and nobody of that name", async () => {
    await train();
    const base = ["predict", "rank", "--model", model, "--data", data, "--target", "large"];
    expect(await refusal(...base)).toBe("There is no candidate to run beside large.");
    expect(await refusal(...base, "--candidates", "huge")).toContain("There is no workload huge");
    expect(await refusal("predict", "rank", "--model", data, "--target", "large")).toContain(
      "it is no predictor.",
    );
  });
});

test("predict evaluate compares learners and rules on rows held out", async () => {
  const argv = [
    "predict",
    "evaluate",
    "--data",
    data,
    "--learners",
    "ours,linear",
    "--metric",
    "smBusy",
    "--splits",
    "3",
    "--part",
    "0.6",
  ];
  const { results } = JSON.parse(await cotenant(...argv, "--json"));
  expect(results.map(({ name }: { name: string }) => name)).toEqual([
    "ours",
    "linear",
    "list of partners",
    "sm%",
  ]);
  const [ours] = results;
  expect(ours.error).toBeLessThan(0.1);
  expect(ours.ofOracle).toBeGreaterThan(0.9);
  expect(await cotenant(...argv)).toContain("of the oracle");
});

test("predict evaluate judges learners of colocations of two and of three jobs", async () => {
  const triples = names.flatMap((a, i) =>
    names.slice(i).map((b) => ({
      clients: [a, b, "middle"].map((workload) => ({
        workload,
        retained: 100 / (busy[a] + busy[b] + busy.middle),
      })),
    })),
  );
  const table = { ...measured, colocations: [...measured.colocations, ...triples] };
  const argv = ["predict", "evaluate", "--data", write("several.json", table), "--json"];
  const learners = ["--learners", "mixed,ours,linear,ridge", "--metric", "smBusy"];
  const { results } = JSON.parse(await cotenant(...argv, ...learners, "--splits", "2"));
  for (const { name, error } of results)
    if (error !== undefined) expect(error, name).toBeLessThan(0.15);
  expect(results.filter(({ error }: { error?: number }) => error !== undefined)).toHaveLength(4);
});

/** Real measurements and profiles, of this repository. */
const bench = ["bert-graph", "resnet50-graph"].flatMap((service) =>
  ["bert-train", "gpt2-train", "resnet50-train"].map(
    (training) => `bench/results/2026-11-20-h200-bench-${service}+${training}.json`,
  ),
);
const h200 = ["--profiles", "bench/profiles/h200"];

describe("predict collect", () => {
  const out = `${folder}/collected.json`;

  test("bench results become measurements, which profiles make a model of, which ranks", async () => {
    const collect = ["predict", "collect", ...bench, "--arrangement", "mps", "--out", out];
    expect(await cotenant(...collect)).toBe(
      `${out}: 6 colocations of 6 results (NVIDIA H200, mps, cotenant-lab bench, 2026-11-20)`,
    );
    const { arrangement, colocations } = JSON.parse(readFileSync(out, "utf8"));
    expect(arrangement).toBe("mps");
    expect(colocations[0].clients).toEqual([
      // 1 / slowdown of the burst, and (0.941 - 0.019) / 0.981 of the time in which requests are served.
      { workload: "bert-graph", retained: expect.closeTo(1 / 8.916, 3) },
      { workload: "bert-train", retained: expect.closeTo(0.94, 2) },
    ]);
    await cotenant("predict", "train", "--data", out, ...h200, "--out", model);
    expect(JSON.parse(readFileSync(model, "utf8")).provenance.arrangement).toBe("mps");
    const ranking = await cotenant(
      "predict",
      "rank",
      "--model",
      model,
      ...h200,
      "--target",
      "resnet50-eager",
      "--candidates",
      "bert-train,gpt2-train,resnet50-train",
    );
    expect(ranking.split("\n").map((line) => line.split(" ")[0])).toEqual([
      "candidate",
      "resnet50-train",
      "gpt2-train",
      "bert-train",
    ]);
  });

  test("measured pairs of a cluster become measurements, with predicted beside measured", async () => {
    const pairs = "test/lab/cluster-pairs.json";
    const collect = ["predict", "collect", pairs, "--out", out];
    expect(await cotenant(...collect, "--arrangement", "cotenant-isolated")).toBe(
      [
        `${out}: 1 colocations (H200, cotenant-isolated, 1 pairs of a cluster)`,
        "",
        "retained throughput   pairs  hours  predicted  measured  error",
        "from turns                1    2.0       50 %      60 %   10 %",
        "predicted 0.4 to 0.6      1    2.0       50 %      60 %   10 %",
        "2026-11-30                1    2.0       50 %      60 %   10 %",
      ].join("\n"),
    );
    expect(await refusal(...collect)).toContain("1 ran under cotenant-isolated");
    expect(await refusal(...collect, ...bench)).toContain("is of a cluster");
  });

  test("another arrangement, another GPU, and nothing to collect", async () => {
    const collect = ["predict", "collect", "--out", out];
    expect(await refusal(...collect)).toContain('"predict collect" needs RESULT ….');
    expect(await refusal(...collect, ...bench, "--arrangement", "mps-77")).toContain(
      "None of the results has a cell of mps-77 with one service and one training.",
    );
    expect(await refusal(...collect, data)).toContain(
      "It must be a result of the bench, version 2.",
    );
    const [first = ""] = bench;
    const elsewhere = JSON.parse(readFileSync(first, "utf8"));
    elsewhere.machine.gpu = "NVIDIA A100";
    const other = write("elsewhere.json", elsewhere);
    expect(await refusal(...collect, first, other)).toContain(
      "The results are of several GPUs: NVIDIA H200, NVIDIA A100.",
    );
  });
});
