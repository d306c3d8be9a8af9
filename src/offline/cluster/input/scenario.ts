// Reads a scenario file and makes a plan for each seed. All of it is checked before a simulation begins.
import { type Field, readJson } from "#core";
import { learnerNames } from "#predict";
import { badScenario, unknownWorkload } from "../errors.ts";
import type { ClusterPlan, GpuGroup, Job, Service } from "../plan.ts";
import { randomStream } from "../random-stream.ts";
import { schedulerNamed } from "../schedulers/index.ts";
import type { SchedulerKind } from "../schedulers/scheduler.ts";
import type { Truth } from "../truth.ts";
import type { Workload } from "../workload.ts";
import { readKace } from "./kace.ts";
import { drawPriorities, inventJobs, type Level, type Shape, shapeTrace } from "./shape.ts";
import { syntheticTruth, syntheticWorkloads } from "./synthetic.ts";
import { traceFormats } from "./traces.ts";

export interface ClusterScenario {
  readonly name: string;
  readonly about: string;
  readonly schedulers: readonly SchedulerKind[];
  readonly seeds: readonly number[];
  /** The plan for a seed, which decides loads, noise and models of jobs. */
  plan(seed: number): ClusterPlan;
}

/** What options of the command line change in a scenario. */
export interface ScenarioChanges {
  readonly schedulers?: readonly string[] | undefined;
  readonly seeds?: readonly number[] | undefined;
}

const planFields = [
  ...["about", "hours", "atMostHours", "stepSeconds", "intervalMinutes", "kace", "gpus"],
  ...["services", "jobs", "gpusPerNode", "memoryQuota", "profiled", "forecast", "costs"],
  ...["faults", "noise", "schedulers", "seeds"],
];

/** `read` returns the content of a file that the scenario names, and throws a UserError if there is none. */
export function readClusterScenario(
  text: string,
  name: string,
  read: (path: string) => string,
  changes: ScenarioChanges = {},
): ClusterScenario {
  const whole = readJson(text, name, badScenario).only(planFields);
  const about = whole.at("about").optional((one) => one.text()) ?? "";
  const seconds = (key: string, unit: number, fallback: number): number =>
    whole
      .at(key)
      .or(fallback)
      .number({ least: 1 / 60, most: 10_000 }) * unit;
  const horizon = seconds("hours", 3600, 24);
  const atMost = seconds("atMostHours", 3600, 72);
  const step = seconds("stepSeconds", 1, 60);
  const interval = seconds("intervalMinutes", 60, 15);
  if (atMost < horizon) throw whole.at("atMostHours").bad('is less than "hours".');
  if (interval % step !== 0 || 86_400 % step !== 0)
    throw whole
      .at("stepSeconds")
      .bad(`the interval of ${interval} s and a day must be whole steps of ${step} s.`);
  const measured = readPairs(whole.at("kace"), read);
  const workload = (given: Field, role: Workload["role"]): Workload => {
    const known = measured.workloads.filter((one) => one.role === role);
    const name = given.text();
    const found = known.find((one) => one.name === name);
    if (found) return found;
    const names = known.map((one) => one.name);
    throw unknownWorkload(given.place, name, names);
  };
  const gpus = whole.at("gpus").filledList("group of GPUs").map(readGpus);
  const services = (whole.at("services").optional((one) => one.filledList("service")) ?? []).map(
    (one) => readService(one, (given) => workload(given, "online")),
  );
  const hosts = services.reduce((sum, one) => sum + one.gpus, 0);
  const total = gpus.reduce((sum, { count }) => sum + count, 0);
  if (hosts > total) throw whole.at("services").bad(`want ${hosts} GPUs and there are ${total}.`);
  const jobs = readJobs(whole.at("jobs").or({}), read, (given) => workload(given, "offline"));
  const rest = {
    gpus,
    services,
    horizon,
    atMost,
    step,
    interval,
    gpusPerNode: whole.at("gpusPerNode").or(8).whole(1),
    memoryQuota: whole.at("memoryQuota").or(0.4).ratio(),
    profiled: whole.at("profiled").or(0.75).ratio(),
    forecast: whole.at("forecast").or("ours").one(learnerNames),
    ...readConditions(whole),
  };
  const named = whole.at("schedulers").filledList("scheduler");
  const schedulers = (changes.schedulers ?? named.map((one) => one.text())).map(schedulerNamed);
  const counted = whole.at("seeds").or(1).whole(1, 1000);
  const seeds = changes.seeds ?? Array.from({ length: counted }, (_, i) => i + 1);
  return {
    name,
    about,
    schedulers,
    seeds,
    plan: (seed) => ({ name, about, seed, truth: measured.truth, jobs: jobs(seed), ...rest }),
  };
}

function readPairs(
  kace: Field,
  read: (path: string) => string,
): { readonly workloads: readonly Workload[]; readonly truth: Truth } {
  if (kace.missing) return { workloads: syntheticWorkloads, truth: syntheticTruth };
  kace.only(["solo", "pairs", "labels"]);
  return readKace({
    solo: read(kace.at("solo").text()),
    pairs: read(kace.at("pairs").text()),
    labels: read(kace.at("labels").text()),
  });
}

function readGpus(group: Field): GpuGroup {
  group.only(["type", "count", "memoryGB", "speed"]);
  return {
    type: group.at("type").text(),
    count: group.at("count").whole(1, 100_000),
    memoryGB: group.at("memoryGB").number({ least: 1 }),
    speed: group.at("speed").or(1).number({ least: 0.001 }),
  };
}

function readService(service: Field, workload: (name: Field) => Workload): Service {
  service.only(["workload", "gpus", "cv", "load"]);
  const load = service.at("load").only(["low", "high", "peakHour", "burstsPerDay", "spread"]);
  const low = load.at("low").ratio();
  const high = load.at("high").ratio();
  if (high < low) throw load.at("high").bad(`is ${high}, less than "low".`);
  return {
    workload: workload(service.at("workload")),
    gpus: service.at("gpus").whole(1),
    cv: service.at("cv").or(0.5).number({ most: 5 }),
    load: {
      low,
      high,
      peakHour: load.at("peakHour").or(20).number({ most: 24 }),
      burstsPerDay: load.at("burstsPerDay").or(0).number(),
      spread: load.at("spread").or(0).number({ most: 2 }),
    },
  };
}

function readConditions(whole: Field): Pick<ClusterPlan, "costs" | "faults" | "noise"> {
  const costs = whole
    .at("costs")
    .or({})
    .only(["restartSeconds", "checkpointMinutes", "dollarsPerGpuHour"]);
  const faults = whole.at("faults").or({}).only(["perGpuDay", "repairMinutes"]);
  const noise = whole.at("noise").or({}).only(["pair", "start", "meter", "estimate"]);
  const spread = (key: string, fallback: number) => noise.at(key).or(fallback).number({ most: 3 });
  return {
    costs: {
      restart: costs.at("restartSeconds").or(60).number(),
      checkpoint: costs.at("checkpointMinutes").or(15).number({ least: 0.1 }) * 60,
      dollarsPerGpuHour: costs.at("dollarsPerGpuHour").or(2).number(),
    },
    faults: {
      gpuPerDay: faults.at("perGpuDay").or(0).number({ most: 100 }),
      repair: faults.at("repairMinutes").or(60).number({ least: 1 }) * 60,
    },
    noise: {
      pair: spread("pair", 0.1),
      start: spread("start", 0.03),
      meter: spread("meter", 0.03),
      estimate: spread("estimate", 0),
    },
  };
}

type JobsOfSeed = (seed: number) => readonly Job[];

function readJobs(
  jobs: Field,
  read: (path: string) => string,
  workload: (name: Field) => Workload,
): JobsOfSeed {
  const fromTrace = !jobs.at("trace").missing;
  jobs.only([
    ...["workloads", "count", "longestHours", "withinHours", "priorities"],
    ...(fromTrace ? ["trace", "gpus"] : ["medianMinutes", "spread"]),
  ]);
  const workloads = jobs.at("workloads").filledList("workload").map(workload);
  const longest = jobs.at("longestHours").or(1000).number({ least: 0.01 }) * 3600;
  const within = jobs.at("withinHours").optional((one) => one.number({ least: 0.01 }) * 3600);
  const count = jobs.at("count").or(0).whole(0, 200_000);
  const drawn = (seed: number) => randomStream(seed, "jobs");
  const levels = readLevels(jobs.at("priorities"));
  const ranked =
    (of: JobsOfSeed): JobsOfSeed =>
    (seed) =>
      drawPriorities(of(seed), levels, randomStream(seed, "priorities"));
  if (!fromTrace) {
    const shape = {
      count,
      longest,
      within: within ?? 12 * 3600,
      median: jobs.at("medianMinutes").or(20).number({ least: 0.01 }) * 60,
      spread: jobs.at("spread").or(1.5).number({ most: 5 }),
    };
    if (count === 0) throw jobs.bad('has neither a "trace" nor a "count" of jobs to invent.');
    return ranked((seed) => inventJobs(shape, workloads, drawn(seed)));
  }
  const oneGpu = jobs.at("gpus").or("as given").text() === "one";
  const shape: Shape = { count, longest, within, oneGpu };
  const { file, traced } = readTrace(jobs.at("trace"), read);
  return ranked((seed) => shapeTrace(traced, shape, workloads, drawn(seed), file));
}

function readTrace(trace: Field, read: (path: string) => string) {
  trace.only(["format", "file", "cluster", "factors"]);
  const format = trace.at("format");
  const reader = traceFormats[format.text()];
  if (!reader)
    throw format.bad(
      `there is no format ${format.brief}.`,
      `Known: ${Object.keys(traceFormats).join(", ")}.`,
    );
  const file = trace.at("file").text();
  const cluster = trace.at("cluster").optional((one) => one.text());
  const jobs = reader(read(file), file, cluster);
  // A model's factor: its iterations took so many times longer than the trace says.
  const factors = trace.at("factors").or({});
  const models = new Set(jobs.map(({ model }) => model));
  for (const [name, factor] of factors.entries())
    if (!models.has(name)) throw factor.bad("is for no model of the trace.");
  const traced = jobs.map((job) => ({
    ...job,
    seconds: job.seconds * factors.at(job.model).or(1).number({ least: 0.001 }),
  }));
  return { file, traced };
}

function readLevels(priorities: Field): readonly Level[] {
  if (priorities.missing) return [];
  const levels = priorities.filledList("priority").map((one) => {
    one.only(["priority", "part"]);
    return { priority: one.at("priority").whole(0, 100), part: one.at("part").ratio() };
  });
  if (levels.reduce((sum, { part }) => sum + part, 0) > 1 + 1e-9)
    throw priorities.bad("the parts add up to more than 1.");
  return levels;
}
