// Turns a trace into a day of this cluster, as MuxFlow does (section 7.1): submission time and duration come from the
// trace and the model is drawn at random; "we repeat the workloads to fit in 1,000 GPUs and guarantee that the
// generated traces can be finished in 24 hours".

import { noJobs } from "../model/errors.ts";
import type { Job } from "../model/plan.ts";
import type { RandomStream } from "../model/random-stream.ts";
import type { Workload } from "../model/workload.ts";
import type { TracedJob } from "./traces.ts";

export interface Shape {
  /** The number of jobs to make: the trace's first, or the whole trace repeated; 0 for as many as there are. */
  readonly count: number;
  /** Jobs longer than this are left out, in seconds. */
  readonly longest: number;
  /**
   * The chosen jobs are submitted within so many seconds, in their order and with their bursts. undefined: times do
   * not change.
   */
  readonly within: number | undefined;
  /** Every job uses one GPU, whatever the trace says. */
  readonly oneGpu: boolean;
}

/** In seconds. A shorter duration is taken for an error of the trace. */
const SHORTEST = 1;

/** `own`: the workload that the trace names. */
export type ShapedJob = TracedJob & { readonly own?: Workload | undefined };

const drawnFrom = (workloads: readonly Workload[], random: RandomStream): Workload =>
  workloads[Math.floor(random.uniform() * workloads.length)] as Workload;

export function shapeTrace(
  traced: readonly ShapedJob[],
  shape: Shape,
  workloads: readonly Workload[],
  random: RandomStream,
  file: string,
): Job[] {
  const all = traced
    .filter(({ seconds, gpus }) => seconds <= shape.longest && gpus > 0)
    .sort((a, b) => a.submitted - b.submitted);
  const count = shape.count === 0 ? all.length : shape.count;
  const fitting = all.slice(0, count);
  const [first] = fitting;
  const last = fitting.at(-1);
  if (!first || !last)
    throw noJobs(
      file,
      `all of its ${traced.length} jobs are longer than ${shape.longest / 3600} h or need no GPU`,
    );
  const rounds = Math.ceil(count / fitting.length);
  const span = Math.max(1, last.submitted - first.submitted);
  const scale = shape.within === undefined ? 1 : shape.within / span;
  const jobs = Array.from({ length: count }, (_, i): Job => {
    const from = fitting[i % fitting.length] ?? first;
    const round = Math.floor(i / fitting.length);
    return {
      name: round === 0 ? from.name : `${from.name}+${round}`,
      workload: from.own ?? drawnFrom(workloads, random),
      // Each repetition is shifted a little, so that bursts do not fall on the same second.
      submitted: (from.submitted - first.submitted) * scale * (1 - round / (20 * rounds)),
      seconds: Math.max(SHORTEST, from.seconds),
      gpus: shape.oneGpu ? 1 : from.gpus,
      priority: from.priority,
    };
  });
  return jobs.sort((a, b) => a.submitted - b.submitted);
}

export interface Level {
  readonly priority: number;
  /** The part of the jobs that have this priority, 0 to 1. */
  readonly part: number;
}

/** Draws priorities at random. A job that draws none keeps its own. */
export const drawPriorities = (
  jobs: readonly Job[],
  levels: readonly Level[],
  random: RandomStream,
): readonly Job[] =>
  levels.length === 0
    ? jobs
    : jobs.map((job) => {
        let left = random.uniform();
        const level = levels.find(({ part }) => {
          left -= part;
          return left < 0;
        });
        return level ? { ...job, priority: level.priority } : job;
      });

export interface Invented {
  readonly count: number;
  /** In seconds. */
  readonly median: number;
  /** Standard deviation of the duration's logarithm. */
  readonly spread: number;
  readonly longest: number;
  readonly within: number;
}

/** Jobs without a trace: lognormal durations and Poisson arrivals. */
export function inventJobs(
  shape: Invented,
  workloads: readonly Workload[],
  random: RandomStream,
): Job[] {
  return Array.from({ length: shape.count }, () => ({
    submitted: random.uniform() * shape.within,
    seconds: Math.min(
      shape.longest,
      Math.max(SHORTEST, shape.median * Math.exp(shape.spread * random.normal())),
    ),
    workload: drawnFrom(workloads, random),
  }))
    .sort((a, b) => a.submitted - b.submitted)
    .map((job, i) => ({ ...job, name: `job-${i}`, gpus: 1, priority: 0 }));
}
