// The jobs of a scenario: from a trace, or invented.
import type { Field } from "#core";
import { unknownWorkload } from "../model/errors.ts";
import type { Job } from "../model/plan.ts";
import { randomStream } from "../model/random-stream.ts";
import type { Workload } from "../model/workload.ts";
import {
  drawPriorities,
  inventJobs,
  type Level,
  type Shape,
  type ShapedJob,
  shapeTrace,
} from "./shape.ts";
import { type TracedJob, traceFormats } from "./traces.ts";

type JobsOfSeed = (seed: number) => readonly Job[];

export interface ScenarioJobs {
  readonly of: JobsOfSeed;
  /** The jobs of the trace that need no GPU. They are left out. */
  readonly withoutGpu: number;
}

export function readJobs(
  jobs: Field,
  read: (path: string) => string,
  workload: (name: Field) => Workload,
): ScenarioJobs {
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
    return { of: ranked((seed) => inventJobs(shape, workloads, drawn(seed))), withoutGpu: 0 };
  }
  const oneGpu = jobs.at("gpus").or("as given").text() === "one";
  const shape: Shape = { count, longest, within, oneGpu };
  const { file, traced } = readTrace(jobs.at("trace"), read);
  const named = nameWorkloads(traced, file, workloads);
  return {
    of: ranked((seed) => shapeTrace(named, shape, workloads, drawn(seed), file)),
    withoutGpu: traced.filter(({ gpus }) => gpus === 0).length,
  };
}

/** A job whose row names a workload has that one. */
function nameWorkloads(
  traced: readonly TracedJob[],
  file: string,
  workloads: readonly Workload[],
): readonly ShapedJob[] {
  const byName = new Map(workloads.map((one) => [one.name, one]));
  return traced.map((job) => {
    if (job.workload === undefined) return job;
    const own = byName.get(job.workload);
    if (!own) throw unknownWorkload(`${file}, job ${job.name}`, job.workload, [...byName.keys()]);
    return { ...job, own };
  });
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
