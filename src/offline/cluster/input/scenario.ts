// A scenario file → plans, one for each seed. All of it is checked before anything is simulated.
import { type LearnerName, learnerNames } from "#predict";
import { chance } from "../chance.ts";
import { badScenario, unknownWorkload } from "../faults.ts";
import type { ClusterPlan, GpuGroup, Job, Service } from "../plan.ts";
import { schedulerNamed } from "../schedulers/index.ts";
import type { SchedulerKind } from "../schedulers/scheduler.ts";
import type { Truth } from "../truth.ts";
import type { Workload } from "../workload.ts";
import { type Fields, fieldsOf } from "./fields.ts";
import { readKace } from "./kace.ts";
import { invented, type Level, prioritised, type Shape, shaped } from "./shape.ts";
import { syntheticTruth, syntheticWorkloads } from "./synthetic.ts";
import { traceFormats } from "./traces.ts";

export interface ClusterScenario {
  readonly name: string;
  readonly about: string;
  readonly schedulers: readonly SchedulerKind[];
  readonly seeds: readonly number[];
  /** The day of a seed: loads, noise, models of jobs. */
  plan(seed: number): ClusterPlan;
}

/** What the command line changes about a scenario. */
export interface ScenarioChanges {
  readonly schedulers?: readonly string[] | undefined;
  readonly seeds?: readonly number[] | undefined;
}

/** `read`: the content of a file that the scenario names; throws a UserError when there is none. */
export function readClusterScenario(
  json: unknown,
  name: string,
  read: (path: string) => string,
  changes: ScenarioChanges = {},
): ClusterScenario {
  const fields = fieldsOf(json, name);
  const about = fields.text("about", "");
  const seconds = (key: string, unit: number, fallback: number): number =>
    fields.number(key, { least: 1 / 60, most: 10_000 }, fallback) * unit;
  const horizon = seconds("hours", 3600, 24);
  const atMost = seconds("atMostHours", 3600, 72);
  const step = seconds("stepSeconds", 1, 60);
  const interval = seconds("intervalMinutes", 60, 15);
  if (atMost < horizon) throw badScenario(name, `"atMostHours" is less than "hours"`);
  if (interval % step !== 0 || 86_400 % step !== 0)
    throw badScenario(
      name,
      `the interval of ${interval} s and a day must be whole steps of ${step} s`,
    );
  const measured = readPairs(fields, read);
  const workload = (given: string, role: Workload["role"], place: string): Workload => {
    const known = measured.workloads.filter((one) => one.role === role);
    const found = known.find((one) => one.name === given);
    if (!found)
      throw unknownWorkload(
        place,
        given,
        known.map((one) => one.name),
      );
    return found;
  };
  const gpus = fields.list("gpus").map(readGpus);
  const services = fields.has("services")
    ? fields
        .list("services")
        .map((one) => readService(one, (given) => workload(given, "online", one.place)))
    : [];
  const hosts = services.reduce((sum, one) => sum + one.gpus, 0);
  const total = gpus.reduce((sum, { count }) => sum + count, 0);
  if (hosts > total)
    throw badScenario(name, `its services want ${hosts} GPUs and there are ${total}`);
  const jobs = readJobs(fields.object("jobs"), read, (given, place) =>
    workload(given, "offline", place),
  );
  const rest = {
    gpus,
    services,
    horizon,
    atMost,
    step,
    interval,
    gpusPerNode: fields.number("gpusPerNode", { least: 1, whole: true }, 8),
    memoryQuota: fields.number("memoryQuota", { least: 0, most: 1 }, 0.4),
    profiled: fields.number("profiled", { least: 0, most: 1 }, 0.75),
    forecast: readForecast(fields),
    ...readConditions(fields),
  };
  const named = fields.texts("schedulers");
  const schedulers = (changes.schedulers ?? named).map(schedulerNamed);
  const counted = readSeeds(fields);
  const seeds = changes.seeds ?? counted;
  fields.done();
  return {
    name,
    about,
    schedulers,
    seeds,
    plan: (seed) => ({ name, about, seed, truth: measured.truth, jobs: jobs(seed), ...rest }),
  };
}

function readPairs(
  fields: Fields,
  read: (path: string) => string,
): { readonly workloads: readonly Workload[]; readonly truth: Truth } {
  if (!fields.has("kace")) return { workloads: syntheticWorkloads, truth: syntheticTruth };
  const kace = fields.object("kace");
  const files = {
    solo: read(kace.text("solo")),
    pairs: read(kace.text("pairs")),
    labels: read(kace.text("labels")),
  };
  kace.done();
  return readKace(files);
}

function readGpus(fields: Fields): GpuGroup {
  const group = {
    type: fields.text("type"),
    count: fields.number("count", { least: 1, most: 100_000, whole: true }),
    memoryGB: fields.number("memoryGB", { least: 1 }),
    speed: fields.number("speed", { least: 0.001 }, 1),
  };
  fields.done();
  return group;
}

function readService(fields: Fields, workload: (name: string) => Workload): Service {
  const load = fields.object("load");
  const service = {
    workload: workload(fields.text("workload")),
    gpus: fields.number("gpus", { least: 1, whole: true }),
    cv: fields.number("cv", { least: 0, most: 5 }, 0.5),
    load: {
      low: load.number("low", { least: 0, most: 1 }),
      high: load.number("high", { least: 0, most: 1 }),
      peakHour: load.number("peakHour", { least: 0, most: 24 }, 20),
      burstsPerDay: load.number("burstsPerDay", { least: 0 }, 0),
      spread: load.number("spread", { least: 0, most: 2 }, 0),
    },
  };
  load.done();
  fields.done();
  if (service.load.high < service.load.low)
    throw badScenario(load.place, `"high" is less than "low"`);
  return service;
}

function readConditions(fields: Fields): Pick<ClusterPlan, "costs" | "faults" | "noise"> {
  const costs = fields.object("costs");
  const faults = fields.object("faults");
  const noise = fields.object("noise");
  const spread = (key: string, fallback: number) =>
    noise.number(key, { least: 0, most: 3 }, fallback);
  const conditions = {
    costs: {
      restart: costs.number("restartSeconds", { least: 0 }, 60),
      checkpoint: costs.number("checkpointMinutes", { least: 0.1 }, 15) * 60,
      dollarsPerGpuHour: costs.number("dollarsPerGpuHour", { least: 0 }, 2),
    },
    faults: {
      gpuPerDay: faults.number("perGpuDay", { least: 0, most: 100 }, 0),
      repair: faults.number("repairMinutes", { least: 1 }, 60) * 60,
    },
    noise: {
      pair: spread("pair", 0.1),
      start: spread("start", 0.03),
      meter: spread("meter", 0.03),
      estimate: spread("estimate", 0),
    },
  };
  for (const one of [costs, faults, noise]) one.done();
  return conditions;
}

function readForecast(fields: Fields): LearnerName {
  const given = fields.text("forecast", "ours");
  const known = learnerNames.find((name) => name === given);
  if (!known)
    throw badScenario(
      fields.place,
      `no learner is called "${given}"`,
      `Known: ${learnerNames.join(", ")}.`,
    );
  return known;
}

function readSeeds(fields: Fields): number[] {
  const count = fields.number("seeds", { least: 1, most: 1000, whole: true }, 1);
  return Array.from({ length: count }, (_, i) => i + 1);
}

type JobsOfSeed = (seed: number) => readonly Job[];

function readJobs(
  fields: Fields,
  read: (path: string) => string,
  workload: (name: string, place: string) => Workload,
): JobsOfSeed {
  const workloads = fields.texts("workloads").map((name) => workload(name, fields.place));
  const longest = fields.number("longestHours", { least: 0.01 }, 1000) * 3600;
  const within = fields.has("withinHours")
    ? fields.number("withinHours", { least: 0.01 }) * 3600
    : undefined;
  const count = fields.number("count", { least: 0, most: 200_000, whole: true }, 0);
  const drawn = (seed: number) => chance(seed, "jobs");
  const levels = readLevels(fields);
  const ranked =
    (of: JobsOfSeed): JobsOfSeed =>
    (seed) =>
      prioritised(of(seed), levels, chance(seed, "priorities"));
  if (!fields.has("trace")) {
    const shape = {
      count,
      longest,
      within: within ?? 12 * 3600,
      median: fields.number("medianMinutes", { least: 0.01 }, 20) * 60,
      spread: fields.number("spread", { least: 0, most: 5 }, 1.5),
    };
    if (count === 0)
      throw badScenario(fields.place, `neither a "trace" nor a "count" of jobs to invent is given`);
    fields.done();
    return ranked((seed) => invented(shape, workloads, drawn(seed)));
  }
  const trace = fields.object("trace");
  const format = trace.text("format");
  const reader = traceFormats[format];
  if (!reader)
    throw badScenario(
      trace.place,
      `there is no format "${format}"`,
      `Known: ${Object.keys(traceFormats).join(", ")}.`,
    );
  const file = trace.text("file");
  const cluster = trace.has("cluster") ? trace.text("cluster") : undefined;
  const shape: Shape = {
    count,
    longest,
    within,
    oneGpu: fields.text("gpus", "as given") === "one",
  };
  const factors = trace.object("factors");
  trace.done();
  fields.done();
  // A factor of a model: its iterations took so much longer than the trace says.
  const traced = reader(read(file), file, cluster).map((job) => ({
    ...job,
    seconds: job.seconds * factors.number(job.model, { least: 0.001 }, 1),
  }));
  factors.done();
  return ranked((seed) => shaped(traced, shape, workloads, drawn(seed), file));
}

function readLevels(fields: Fields): readonly Level[] {
  if (!fields.has("priorities")) return [];
  const levels = fields.list("priorities").map((one) => {
    const level = {
      priority: one.number("priority", { least: 0, most: 100, whole: true }),
      part: one.number("part", { least: 0, most: 1 }),
    };
    one.done();
    return level;
  });
  if (levels.reduce((sum, { part }) => sum + part, 0) > 1 + 1e-9)
    throw badScenario(fields.place, `the parts of its "priorities" add up to more than 1`);
  return levels;
}
