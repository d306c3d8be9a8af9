import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { schedulerNamed } from "../schedulers/index.ts";
import { simulate } from "../simulation/simulate.ts";
import { exampleScenario } from "./example.ts";
import { readClusterScenario } from "./scenario.ts";

const none = (path: string): string => {
  throw new Error(`nobody should read ${path}`);
};

// The first row of a trace in Muri's format.
const muri = "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval\n";

describe("an operator's own cluster", () => {
  const own = {
    hours: 1,
    stepSeconds: 60,
    intervalMinutes: 5,
    workloads: [
      { name: "ranker", requestMs: 10, memoryGB: 4, busy: 0.5, memoryBusy: 0.3, smNeed: 0.4 },
      { name: "tuner", memoryGB: 6, busy: 0.9 },
      { name: "cruncher", memoryGB: 6 },
    ],
    pairs: { file: "/abs/pairs.json" },
    gpus: [{ type: "L4", count: 2, memoryGB: 24 }],
    services: [{ workload: "ranker", gpus: 2, load: { log: "requests.csv" } }],
    jobs: { workloads: ["tuner"], trace: { format: "csv", file: "jobs.csv" } },
    schedulers: ["cotenant"],
  };
  const files: Readonly<Record<string, string>> = {
    // A file of `cotenant-lab predict collect`.
    "/abs/pairs.json": JSON.stringify({
      version: 1,
      source: "test",
      colocations: [
        {
          clients: [
            { workload: "ranker", retained: 0.8 },
            { workload: "tuner", retained: 0.5 },
          ],
        },
        {
          clients: [
            { workload: "other", retained: 0.8 },
            { workload: "tuner", retained: 0.1 },
          ],
        },
      ],
    }),
    "requests.csv": `time,requests\n${Array.from({ length: 60 }, (_, i) => `${60 * i},${i % 2 ? 6000 : 3000}`).join("\n")}\n`,
    "jobs.csv": "submitted,seconds,gpus,workload\n0,600,1,tuner\n60,900,0,\n120,300,1,\n",
  };
  const scenario = (more: object = {}, changed: Readonly<Record<string, string>> = {}) =>
    readClusterScenario(
      JSON.stringify({ ...own, ...more }),
      "own.json",
      (path) => ({ ...files, ...changed })[path] ?? none(path),
    );

  test("pairs, request logs and traces of one's own give a plan", () => {
    const plan = scenario().plan(1);
    expect(plan.about).toBe("1 jobs of the trace need no GPU and are left out.");
    expect(plan.jobs.map(({ seconds }) => seconds)).toEqual([600, 300]);
    // 3,000 requests of 10 ms in a minute on two GPUs are a load of 0.25.
    const [service] = plan.services;
    const logged = service && "logged" in service.load ? service.load.logged : [];
    expect([...logged].slice(0, 2)).toEqual([0.25, 0.5]);
    const [tuner, ranker] = [plan.jobs[0]?.workload, service?.workload];
    if (!tuner || !ranker) throw new Error("no pair");
    expect(plan.truth.together(ranker, tuner, 1)).toEqual({ online: 0.8, offline: 0.5 });
    expect(plan.truth.together(ranker, tuner, 0.5).online).toBeCloseTo(0.9);
    expect(plan.truth.together(ranker, tuner, 0.01).online).toBeGreaterThan(0.99);
    const figures = simulate(plan, schedulerNamed("cotenant"));
    expect(figures.finished).toBe(2);
    expect(figures.savedGpuHours).toBeLessThan(900 / 3600);
  });

  test("a pair that was not measured is refused, or follows the rule where the scenario says so", () => {
    const jobs = { workloads: ["cruncher"], count: 3 };
    expect(() => simulate(scenario({ jobs }).plan(1), schedulerNamed("cotenant"))).toThrow(
      /ranker and cruncher were never measured together/,
    );
    const pairs = { file: "/abs/pairs.json", others: "rule" };
    expect(simulate(scenario({ jobs, pairs }).plan(1), schedulerNamed("cotenant")).finished).toBe(
      3,
    );
  });

  test.each([
    [{ workloads: undefined }, {}, /pairs: needs "workloads"/],
    [{ kace: { solo: "a" } }, {}, /workloads: does not go with "kace"/],
    [{}, { "/abs/pairs.json": "{}" }, /\/abs\/pairs\.json.*version/],
    [
      {},
      {
        "/abs/pairs.json":
          '{"version":1,"colocations":[{"clients":[{"workload":"a"},{"workload":"b"}]}]}',
      },
      /has neither "retained" nor a "throughput"/,
    ],
    [{}, { "requests.csv": "when\n1\n" }, /requests\.csv has no column time/],
    [{}, { "requests.csv": "time\n1\n1\n" }, /all rows have the same time/],
    [{}, { "jobs.csv": "submitted,seconds,workload\n0,600,gpt\n" }, /no profile of "gpt"/],
    [{ workloads: [{ name: "x" }] }, {}, /workloads\[0\]\.memoryGB: is missing/],
  ])("%j with %j is refused by its place", (more, changed, message) => {
    expect(() => scenario(more, changed)).toThrow(message);
  });

  test("withinHours is about the jobs that count chooses", () => {
    const trace = Array.from({ length: 100 }, (_, i) => `${1000 * i},60`).join("\n");
    const jobs = { ...own.jobs, count: 11, withinHours: 2 };
    const plan = scenario({ jobs }, { "jobs.csv": `submitted,seconds\n${trace}\n` }).plan(1);
    expect(plan.jobs).toHaveLength(11);
    expect(plan.jobs.at(-1)?.submitted).toBeCloseTo(7200);
  });
});

describe("scenarios", () => {
  const read = (json: unknown, file: (path: string) => string = none) =>
    readClusterScenario(JSON.stringify(json), "day.json", file);
  const change = (more: Readonly<Record<string, unknown>>) => ({ ...exampleScenario, ...more });

  test("the example needs no file, and each seed gives another day", () => {
    const scenario = read(exampleScenario);
    expect(scenario.plan(1).jobs).toHaveLength(1500);
    expect(scenario.plan(1).jobs).toEqual(scenario.plan(1).jobs);
    expect(scenario.plan(1).jobs).not.toEqual(scenario.plan(2).jobs);
  });

  test.each([
    { triggers: undefined, expected: ["once", "once", "rounds"] },
    { triggers: "rounds", expected: ["rounds", "rounds", "rounds"] },
    { triggers: "published", expected: ["rounds", "once", "rounds"] },
  ])(
    "triggers are $triggers: all the same but where a name has its own, or as published",
    ({ triggers, expected }) => {
      const { schedulers } = read(
        change({ schedulers: ["muxflow", "cotenant", "cotenant@rounds"], triggers }),
      );
      expect(schedulers.map(({ trigger }) => trigger)).toEqual(expected);
    },
  );

  const [service] = exampleScenario.services;
  test.each([
    ["no object", [], /day\.json: it is a list, not an object/],
    ["an unknown key", change({ hour: 3 }), /^day\.json, line 1, hour: does not belong there/],
    ["a negative time", change({ hours: -1 }), /hours: is -1, not a number from/],
    ["no GPU", change({ gpus: [] }), /gpus: is empty: there must be at least one group of GPUs/],
    [
      "a GPU without memory",
      change({ gpus: [{ type: "T4", count: 2 }] }),
      /gpus\[0\]\.memoryGB: is missing/,
    ],
    [
      "more services than GPUs",
      change({ gpus: [{ type: "T4", count: 2, memoryGB: 16 }] }),
      /want 200 GPUs and there are 2/,
    ],
    [
      "an unknown model",
      change({ services: [{ ...service, workload: "gpt" }] }),
      /services\[0\]\.workload: there is no profile of "gpt"/,
    ],
    [
      "a job of an unknown model",
      change({ jobs: { workloads: ["gpt"], count: 3 } }),
      /no profile of "gpt"/,
    ],
    [
      "a load above what is served",
      change({ services: [{ ...service, load: { low: 0, high: 2 } }] }),
      /load\.high: is 2, not a number from 0 to 1/,
    ],
    [
      "an upside-down load",
      change({ services: [{ ...service, load: { low: 0.5, high: 0.1 } }] }),
      /load\.high: is 0.1, less than "low"/,
    ],
    ["no jobs", change({ jobs: { workloads: ["vgg-train"] } }), /neither a "trace" nor a "count"/],
    [
      "an unknown format",
      change({ jobs: { workloads: ["vgg-train"], trace: { format: "slurm", file: "x" } } }),
      /no format "slurm"/,
    ],
    ["an unknown scheduler", change({ schedulers: ["best"] }), /No scheduler is called "best"/],
    ["an unknown trigger", change({ triggers: "never" }), /triggers: .*never/],
    [
      "a learner that is none",
      change({ forecast: "oracle" }),
      /forecast: is "oracle", not one of /,
    ],
    [
      "more than all jobs with priorities",
      change({
        jobs: {
          ...exampleScenario.jobs,
          priorities: [
            { priority: 1, part: 0.7 },
            { priority: 2, part: 0.4 },
          ],
        },
      }),
      /jobs\.priorities: the parts add up to more than 1/,
    ],
    [
      "a priority below 0",
      change({ jobs: { ...exampleScenario.jobs, priorities: [{ priority: -1, part: 0.7 }] } }),
      /priorities\[0\].*priority/,
    ],
    ["an interval between steps", change({ stepSeconds: 420 }), /must be whole steps of 420 s/],
    ["an end before the horizon", change({ atMostHours: 2 }), /atMostHours: is less than "hours"/],
  ])("%s is reported with its place", (_, json, message) => {
    expect(() => read(json)).toThrow(message);
  });

  test("the scenario says which part of the jobs has a priority", () => {
    const priorities = [{ priority: 3, part: 0.2 }];
    const { jobs } = read(change({ jobs: { ...exampleScenario.jobs, priorities } })).plan(1);
    const high = jobs.filter(({ priority }) => priority === 3).length;
    expect(high / jobs.length).toBeGreaterThan(0.15);
    expect(high / jobs.length).toBeLessThan(0.25);
    expect(jobs.filter(({ priority }) => priority === 0).length).toBe(jobs.length - high);
  });

  const muriJobs = (more = {}) =>
    change({
      jobs: { workloads: ["vgg-train"], trace: { format: "muri", file: "x.csv", ...more } },
    });
  const rows = `${muri}7,4,0,3,vgg16,16,281000,1\n8,1,5000,3,bert,16,1000,1\n`;

  test("factors of models stretch a trace's durations", () => {
    const plan = read(muriJobs({ factors: { vgg16: 2 } }), () => rows).plan(1);
    expect(plan.jobs.map(({ seconds }) => seconds)).toEqual([562, 1]);
  });

  test.each([
    [
      "a job on four GPUs, where each gets one",
      muriJobs(),
      "muxflow",
      /job-7 needs 4 GPUs, and muxflow puts a job on one GPU/,
    ],
    [
      "more GPUs than there are",
      { ...muriJobs(), services: undefined, gpus: [{ type: "T4", count: 2, memoryGB: 16 }] },
      "srtf",
      /job-7 can never run: it needs 4 GPUs and the cluster has 2/,
    ],
    [
      "too little memory for best-effort jobs",
      change({ memoryQuota: 0.1 }),
      "cotenant",
      /can never run: .* 2\.4 GB are free/,
    ],
  ])("%s is refused before anything runs", (_, json, scheduler, message) => {
    const plan = read(json, () => rows).plan(1);
    expect(() => simulate(plan, schedulerNamed(scheduler))).toThrow(message);
  });
});

/**
 * Tables in KACE's format, with made-up numbers because KACE's have no licence: in each pair, each side keeps half of
 * its speed.
 */
const madeUpKace: Readonly<Record<string, string>> = (() => {
  const tenths = Array.from({ length: 10 }, (_, i) => 10 * (i + 1));
  const online = ["vit-base-patch16-224", "bert-base-cased", "resnet-50"].map(
    (name) => `${name}_batch8-inf`,
  );
  const offline = [
    ...["bert-base-cased_batch2", "vit_h_14_batch2"],
    ...["mobilenet_batch8", "mobilenet_batch16", "resnet"],
  ].map((name) => `${name}-train`);
  const all = [...online, ...offline];
  const splits = tenths.map((tenth) =>
    tenth === 100 ? '"(LS100, BE100)"' : `"(LS${tenth}, BE${100 - tenth})"`,
  );
  const halves = tenths.map(() => '"(5, 5)"').join();
  return {
    "baseline_steps_stage2.csv": [
      `workload,${tenths}`,
      ...all.map((name) => `${name},${tenths.map((tenth) => tenth / 10)}`),
    ].join("\n"),
    "baseline_labels.csv": [
      "Type,Exclusive100,sm%,mem%,memcap,Exclusive50",
      ...all.map((name) => `${name},10,50,20,4,5`),
    ].join("\n"),
    "one_None_merged0505_0617_0520_0520_share_steps_stage2.csv": [
      `workload1,workload2,${splits}`,
      ...online.flatMap((one) => offline.map((other) => `${one},${other},${halves}`)),
    ].join("\n"),
  };
})();

describe("the scenarios", () => {
  const all = process.env.COTENANT_DATA;
  const scenarios = join(import.meta.dirname, "../../../bench/cluster/scenarios");
  const read = (path: string): string =>
    (all ? undefined : madeUpKace[basename(path)]) ??
    readFileSync(join(all ?? "test/data", path.replace("data:", "")), "utf8");
  const names = [
    ...["muxflow-a", "muxflow-b", "muxflow-c", "muxflow-d", "muri-testbed", "size"],
    ...["busy", "short", "short-filled"],
  ];
  test.each(names)("%s can be read, and its pairs are all measured", (name) => {
    const text = readFileSync(join(scenarios, `${name}.json`), "utf8");
    const { services, jobs, truth } = readClusterScenario(text, name, read).plan(1);
    expect(jobs).not.toEqual([]);
    for (const { workload } of services)
      for (const one of new Set(jobs.map((job) => job.workload)))
        expect(truth.together(workload, one, 0.7).offline).toBeGreaterThan(0);
  });
});
