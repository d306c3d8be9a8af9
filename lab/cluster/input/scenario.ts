// Reads a scenario file and makes a plan for each seed. All of it is checked before a simulation begins.
import { type Field, readJson } from "#core";
import { learnerNames } from "#predict";
import { badScenario, unknownWorkload } from "../model/errors.ts";
import { WANDER } from "../model/load.ts";
import type { ClusterPlan, GpuGroup, Service } from "../model/plan.ts";
import type { Truth } from "../model/truth.ts";
import type { Workload } from "../model/workload.ts";
import { schedulerNamed, usualTriggers } from "../schedulers/index.ts";
import type { SchedulerKind } from "../schedulers/scheduler.ts";
import { readJobs } from "./jobs.ts";
import { readKace } from "./kace.ts";
import { readOwnPairs, readOwnWorkload } from "./own.ts";
import { readRequestLog } from "./request-log.ts";
import { syntheticTruth, syntheticWorkloads } from "./synthetic.ts";

export interface ClusterScenario {
  readonly name: string;
  readonly about: string;
  readonly schedulers: readonly SchedulerKind[];
  readonly seeds: readonly number[];
  /** The plan for a seed, which decides loads, noise and models of jobs. */
  plan(seed: number): ClusterPlan;
}

/** Changes of a scenario by options of the command line. */
export interface ScenarioChanges {
  readonly schedulers?: readonly string[] | undefined;
  readonly seeds?: readonly number[] | undefined;
}

const planFields = [
  ...["about", "hours", "atMostHours", "stepSeconds", "intervalMinutes", "kace", "workloads"],
  ...[
    "pairs",
    "gpus",
    "services",
    "jobs",
    "gpusPerNode",
    "memoryQuota",
    "profiled",
    "forecast",
    "costs",
  ],
  ...["faults", "noise", "schedulers", "triggers", "seeds"],
];

/** `read` returns the content of a file that the scenario names, and throws a UserError if there is none. */
export function readClusterScenario(
  text: string,
  name: string,
  read: (path: string) => string,
  changes: ScenarioChanges = {},
): ClusterScenario {
  const whole = readJson(text, name, badScenario).only(planFields);
  const described = whole.at("about").optional((one) => one.text()) ?? "";
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
  const measured = readMeasured(whole, read);
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
    (one) => readService(one, (given) => workload(given, "online"), read, step),
  );
  const hosts = services.reduce((sum, one) => sum + one.gpus, 0);
  const total = gpus.reduce((sum, { count }) => sum + count, 0);
  if (hosts > total) throw whole.at("services").bad(`want ${hosts} GPUs and there are ${total}.`);
  const jobs = readJobs(whole.at("jobs").or({}), read, (given) => workload(given, "offline"));
  const about = [
    ...(described === "" ? [] : [described]),
    ...(jobs.withoutGpu > 0
      ? [`${jobs.withoutGpu} jobs of the trace need no GPU and are left out.`]
      : []),
  ].join(" ");
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
  const trigger = whole.at("triggers").or("once").one(usualTriggers);
  const schedulers = (changes.schedulers ?? named.map((one) => one.text())).map((one) =>
    schedulerNamed(one, trigger),
  );
  const counted = whole.at("seeds").or(1).whole(1, 1000);
  const seeds = changes.seeds ?? Array.from({ length: counted }, (_, i) => i + 1);
  return {
    name,
    about,
    schedulers,
    seeds,
    plan: (seed) => ({ name, about, seed, truth: measured.truth, jobs: jobs.of(seed), ...rest }),
  };
}

interface Measured {
  readonly workloads: readonly Workload[];
  readonly truth: Truth;
}

/**
 * Workloads and what their pairs do to each other: the operator's own, KACE's, or invented ones. A pair of own workloads
 * that was not measured is refused, unless "pairs" says that the rule of the invented ones applies to it.
 */
function readMeasured(whole: Field, read: (path: string) => string): Measured {
  const [kace, own, pairs] = [whole.at("kace"), whole.at("workloads"), whole.at("pairs")];
  if (!kace.missing) {
    for (const other of [own, pairs])
      if (!other.missing) throw other.bad('does not go with "kace", which has its own.');
    kace.only(["solo", "pairs", "labels"]);
    return readKace({
      solo: read(kace.at("solo").text()),
      pairs: read(kace.at("pairs").text()),
      labels: read(kace.at("labels").text()),
    });
  }
  if (own.missing) {
    if (!pairs.missing) throw pairs.bad('needs "workloads", which describe each side alone.');
    return { workloads: syntheticWorkloads, truth: syntheticTruth };
  }
  const workloads = own.filledList("workload").map(readOwnWorkload);
  if (pairs.missing) return { workloads, truth: syntheticTruth };
  pairs.only(["file", "others"]);
  const file = pairs.at("file").text();
  const others = pairs
    .at("others")
    .or("refused")
    .one(["refused", "rule"] as const);
  const rest = others === "rule" ? syntheticTruth : undefined;
  return { workloads, truth: readOwnPairs(read(file), file, workloads, rest) };
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

function readService(
  service: Field,
  workloadOf: (name: Field) => Workload,
  read: (path: string) => string,
  step: number,
): Service {
  service.only(["workload", "gpus", "cv", "load"]);
  const workload = workloadOf(service.at("workload"));
  const gpus = service.at("gpus").whole(1);
  return {
    workload,
    gpus,
    cv: service.at("cv").or(0.5).number({ most: 5 }),
    load: readLoad(service.at("load"), read, step, workload.requestMs / 1000 / gpus),
  };
}

/** `seconds`: what a request takes alone on each of the service's GPUs, divided by their number. */
function readLoad(
  load: Field,
  read: (path: string) => string,
  step: number,
  seconds: number,
): Service["load"] {
  if (!load.at("log").missing) {
    load.only(["log", "factor", "spread"]);
    const file = load.at("log").text();
    const factor = load.at("factor").or(1).number({ above: 0 });
    return {
      logged: readRequestLog(read(file), file, step).map(
        (requests) => (factor * requests * seconds) / step,
      ),
      spread: load.at("spread").or(0).number({ most: 2 }),
    };
  }
  load.only(["low", "high", "peakHour", "burstsPerDay", "spread", "wander"]);
  const low = load.at("low").ratio();
  const high = load.at("high").ratio();
  if (high < low) throw load.at("high").bad(`is ${high}, less than "low".`);
  return {
    low,
    high,
    peakHour: load.at("peakHour").or(20).number({ most: 24 }),
    burstsPerDay: load.at("burstsPerDay").or(0).number(),
    spread: load.at("spread").or(0).number({ most: 2 }),
    wander: load.at("wander").or(WANDER).number({ most: 1 }),
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
