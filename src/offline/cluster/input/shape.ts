// A trace as a day of this cluster: MuxFlow, section 7.1: submission time and duration from the trace, a model
// drawn at random, "we repeat the workloads to fit in 1,000 GPUs and guarantee that the generated traces can be
// finished in 24 hours".

import { noJobs } from "../errors.ts";
import type { Job } from "../plan.ts";
import type { RandomStream } from "../random-stream.ts";
import type { Workload } from "../workload.ts";
import type { TracedJob } from "./traces.ts";

export interface Shape {
  /** Jobs to make: the trace's first, or all of it again and again; 0 for as many as there are. */
  readonly count: number;
  /** Longer ones are left out, seconds. */
  readonly longest: number;
  /** All are submitted within so many seconds, their order and bursts kept; undefined leaves times as they are. */
  readonly within: number | undefined;
  /** Every job on one GPU, whatever the trace says. */
  readonly oneGpu: boolean;
}

/** A duration of less than this is noise of the trace. */
const SHORTEST = 1;

export function shaped(
  traced: readonly TracedJob[],
  shape: Shape,
  workloads: readonly Workload[],
  random: RandomStream,
  file: string,
): Job[] {
  const fitting = traced
    .filter(({ seconds }) => seconds <= shape.longest)
    .sort((a, b) => a.submitted - b.submitted);
  const [first] = fitting;
  const last = fitting.at(-1);
  if (!first || !last)
    throw noJobs(
      file,
      `all of its ${traced.length} jobs are longer than ${shape.longest / 3600} h`,
    );
  const count = shape.count === 0 ? fitting.length : shape.count;
  const rounds = Math.ceil(count / fitting.length);
  const span = Math.max(1, last.submitted - first.submitted);
  const scale = shape.within === undefined ? 1 : shape.within / span;
  const jobs = Array.from({ length: count }, (_, i): Job => {
    const from = fitting[i % fitting.length] ?? first;
    const round = Math.floor(i / fitting.length);
    return {
      name: round === 0 ? from.name : `${from.name}+${round}`,
      workload: workloads[Math.floor(random.uniform() * workloads.length)] as Workload,
      // Each repetition a little later, so that bursts do not pile up on one second.
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
  /** Part of the jobs that have it, 0 to 1. */
  readonly part: number;
}

/** Priorities drawn at random; who draws none keeps his own. */
export const prioritised = (
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
  /** Seconds. */
  readonly median: number;
  /** Standard deviation of a duration's logarithm. */
  readonly spread: number;
  readonly longest: number;
  readonly within: number;
}

/** Without a trace: lognormal durations, arrivals of a Poisson process. */
export function invented(
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
    workload: workloads[Math.floor(random.uniform() * workloads.length)] as Workload,
  }))
    .sort((a, b) => a.submitted - b.submitted)
    .map((job, i) => ({ ...job, name: `job-${i}`, gpus: 1, priority: 0 }));
}
