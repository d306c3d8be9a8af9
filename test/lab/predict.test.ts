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

/** Pairs of a simulated day, by bench/predict/day: what was forecast with bounds, and what was measured. */
const recorded = [
  ["service 3", "job 4", "00:11:00", "turns", [0.85], [], 0.682, 1000, 660, 0.15],
  ["service 7", "job 5", "00:21:30", "turns", [0.85], [], 0.835, 1184, 1260, 0.16],
  [
    "service 9",
    "job 8",
    "00:54:30",
    "rule",
    [0.65, 0.519, 0.762],
    [1.134, 1, 1.3],
    0.535,
    1109,
    60,
    0.391,
  ],
  [
    "service 6",
    "job 12",
    "03:09:30",
    "rule",
    [0.637, 0.506, 0.75],
    [1.143, 1, 1.31],
    0.746,
    1024,
    7860,
    0.257,
  ],
  [
    "service 9",
    "job 8",
    "02:24:00",
    "rule",
    [0.608, 0.535, 0.698],
    [1.119, 1.045, 1.179],
    0.559,
    1099,
    4860,
    0.381,
  ],
  [
    "service 9",
    "job 7",
    "01:49:30",
    "rule",
    [0.681, 0.535, 0.861],
    [1.131, 1, 1.256],
    0.594,
    1156,
    2460,
    0.384,
  ],
  [
    "service 3",
    "job 14",
    "02:03:30",
    "model",
    [0.571, 0.485, 0.663],
    [1.16, 1.016, 1.327],
    0.696,
    1041,
    660,
    0.155,
  ],
  [
    "service 4",
    "job 0",
    "05:57:30",
    "model",
    [0.709, 0.706, 0.711],
    [1.216, 1.212, 1.22],
    0.666,
    1244,
    660,
    0.332,
  ],
  [
    "service 5",
    "job 2",
    "12:20:30",
    "model",
    [0.755, 0.754, 0.755],
    [1.042, 1.042, 1.043],
    0.781,
    1000,
    9660,
    0.241,
  ],
  [
    "service 5",
    "job 11",
    "13:28:30",
    "model",
    [0.747, 0.746, 0.748],
    [1.137, 1.136, 1.139],
    0.841,
    1241,
    2460,
    0.269,
  ],
  [
    "service 5",
    "job 9",
    "17:05:30",
    "model",
    [0.734, 0.733, 0.735],
    [1.149, 1.148, 1.151],
    0.692,
    1184,
    1260,
    0.41,
  ],
  [
    "service 7",
    "job 6",
    "21:25:00",
    "model",
    [0.759, 0.729, 0.796],
    [1.068, 1.028, 1.137],
    0.771,
    1173,
    1260,
    0.164,
  ],
] as const;

function rowOf(
  [
    service,
    job,
    time,
    from,
    predicted,
    bursts,
    retained,
    p50Us,
    seconds,
    load,
  ]: (typeof recorded)[number],
  n: number,
) {
  const [value, retainedLow, retainedHigh] = predicted;
  const [slowdown, low, high] = bursts;
  return {
    ...{ pairing: `${n}`, job: { workload: job }, service: { workload: service } },
    predicted: {
      ...{ retained: value, retainedLow, retainedHigh, from },
      ...(slowdown && { bursts: { slowdown, low, high } }),
    },
    measured: {
      ...{ retained, by: "work", seconds, load, others: 0 },
      ...{ policy: "cotenant", mode: "isolated", model: "H200", soloBusy: 0.9 },
      service: { unit: "burst", perS: 60, p50Us, p99Us: 2000, soloP50Us: 1000, soloP99Us: 2000 },
    },
    ...{ at: `2026-01-05T${time}.000Z`, ended: "done" },
  };
}

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

  test("pairs that a manager forecast with bounds show how often these held, of both figures", async () => {
    const pairs = write("day.json", {
      ...{ apiVersion: "v1", kind: "SharingReport", status: { pairs: recorded.map(rowOf) } },
    });
    const collect = ["predict", "collect", pairs, "--arrangement", "cotenant-isolated"];
    expect((await cotenant(...collect, "--out", out)).replace(out, "OUT")).toMatchInlineSnapshot(`
      "OUT: 11 colocations (H200, cotenant-isolated, 12 pairs of a cluster)

      retained throughput   pairs  hours  predicted  measured  error  with bounds  within
      from model                6    4.4       74 %      77 %  4.1 %            6    17 %
      from rule                 4    4.2       63 %      66 %  8.6 %            4   100 %
      from turns                2    0.5       85 %      78 %  6.8 %            0
      predicted 0.4 to 0.6      1    0.2       57 %      70 %   13 %            1   0.0 %
      predicted 0.6 to 0.8      9    8.5       69 %      72 %  6.2 %            9    56 %
      predicted 0.8 to 1.0      2    0.5       85 %      78 %  6.8 %            0
      2026-01-05               12    9.2       70 %      72 %  6.4 %           10    50 %
      50 % of the 10 pairs with bounds are within them; 80 % or more are expected.
      80 % are at least the lower bound and 70 % at most the upper one; 90 % each are expected.

      slowdown                pairs  hours  predicted  measured  error  with bounds  within
      from model                  6    4.4       1.08      1.08   0.06            6    17 %
      from rule                   4    4.2       1.13      1.07   0.07            4   100 %
      predicted 1.00 to 1.05      1    2.7       1.04      1.00   0.04            1   0.0 %
      predicted 1.05 to 1.10      1    0.3       1.07      1.17   0.10            1   0.0 %
      predicted 1.10 to 1.25      8    5.6       1.14      1.10   0.07            8    63 %
      2026-01-05                 10    8.7       1.11      1.07   0.07           10    50 %
      50 % of the 10 pairs with bounds are within them; 80 % or more are expected.
      90 % are at least the lower bound and 60 % at most the upper one; 90 % each are expected.

      retained: the prior, as 11 pairs of workloads are too few for a rule, errs by 0.064. The predictions err by 0.070; they are worse in 64 % of resamples.
      slowdown: the prior, as 11 pairs of workloads are too few for a rule, errs by 0.122."
    `);
    const json = JSON.parse(await cotenant(...collect, "--out", out, "--json"));
    expect(json.calibration.slowdown.all).toMatchObject({ pairs: 10 });
    expect(json.expectedCoverage).toEqual({ each: 0.9, within: expect.closeTo(0.8) });
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
