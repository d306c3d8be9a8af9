// The simulator's state of GPUs and jobs. Only simulate.ts and its helpers change it.

import type { Monitor } from "#health";
import { workingMonitor } from "./monitor.ts";
import type { ClusterPlan, Job, Service } from "./plan.ts";
import type { RandomStream } from "./random-stream.ts";
import type { JobView } from "./schedulers/scheduler.ts";
import type { Neighbours, Sharing } from "./sharing.ts";

/** What happens on it now is a `Sharing`. */
export interface GpuState extends Sharing {
  readonly index: number;
  readonly node: number;
  readonly type: string;
  readonly speed: number;
  readonly memoryGB: number;
  readonly freeMemoryGB: number;
  readonly service: number;
  /** How much busier it is than the service's average GPU, as a factor. */
  readonly unevenness: number;
  monitor: Monitor;
  load: number;
  /** Work of waiting requests in seconds: now, and if the service were alone. */
  backlog: number;
  backlogAlone: number;
  jobs: number[];
  /** Who shares it now; undefined after a job came, left, began to work or got another share. */
  neighbours: Neighbours | undefined;
  /** The luck of each of its jobs. */
  lucks: readonly number[];
  /** Memory in use. */
  usedMemoryGB: number;
  /** Since when the figures above apply. */
  since: number;
}

export interface JobState {
  readonly job: Job;
  readonly index: number;
  /** The owner's estimate of the whole job, in seconds alone. */
  readonly estimate: number;
  phase: "to come" | "waiting" | "running" | "done";
  seats: readonly number[];
  share: number;
  /** It restarts until then, and works from then on. */
  readyAt: number;
  luck: number;
  /**
   * Retained throughput now (the least on its GPUs), and progress per second, in seconds alone on the reference GPU.
   */
  retained: number;
  rate: number;
  since: number;
  /** Seconds alone that are done, and when this start began to work. */
  done: number;
  doneAtStart: number;
  /** Seconds on GPUs, and the seconds alone on those same GPUs that they are equal to. */
  held: number;
  worth: number;
  /** Sums for this start, which an owner could measure: retained x seconds, and seconds at work. */
  measured: number;
  measuredSeconds: number;
  firstStart: number;
  finished: number;
  starts: number;
  /** Distinguishes a predicted end that is still valid from one predicted at an earlier rate. */
  version: number;
  /** What schedulers see of it in its phase; undefined until they look. */
  view: JobView | undefined;
}

/** The numbers of a GPU and of a job that steps read. */
const GPU_NUMBERS = [
  ...(["load", "backlog", "backlogAlone", "usedMemoryGB", "since", "unevenness", "speed"] as const),
  ...(["memoryGB", "slowdown", "busy", "onlineActivity", "activity"] as const),
] as const;
const JOB_NUMBERS = [
  ...(["estimate", "share", "readyAt", "luck", "retained", "rate", "since", "done"] as const),
  ...(["doneAtStart", "held", "worth", "measured", "measuredSeconds", "version"] as const),
] as const;

type NumbersOf<Names extends readonly string[]> = Record<Names[number], number>;

export function newGpus(
  { gpus, gpusPerNode, services, memoryQuota }: ClusterPlan,
  random: RandomStream,
): GpuState[] {
  const hosts = spreadServices(
    services,
    gpus.reduce((sum, { count }) => sum + count, 0),
  );
  const numbers = numberRecords(GPU_NUMBERS, hosts.length);
  return gpus
    .flatMap((group) => Array<typeof group>(group.count).fill(group))
    .map(({ type, speed, memoryGB }, index) => {
      const service = hosts[index] ?? -1;
      const host = services[service];
      const gpu = Object.assign(numbers[index] as NumbersOf<typeof GPU_NUMBERS>, {
        index,
        node: Math.floor(index / gpusPerNode),
        type,
        freeMemoryGB: host
          ? Math.min(memoryQuota * memoryGB, memoryGB - host.workload.memoryGB)
          : memoryGB,
        service,
        monitor: workingMonitor(),
        jobs: [],
        neighbours: undefined,
        lucks: [],
        retained: [],
      });
      gpu.speed = speed;
      gpu.memoryGB = memoryGB;
      gpu.unevenness = Math.exp((host?.load.spread ?? 0) * random.normal());
      gpu.usedMemoryGB = host?.workload.memoryGB ?? 0;
      gpu.slowdown = 1;
      return gpu;
    });
}

/** Spreads services over the GPUs in turn, so that each type of GPU and each node has some of each. */
function spreadServices(services: readonly Service[], gpus: number): number[] {
  const left = services.map((service) => service.gpus);
  const hosts: number[] = [];
  for (let gpu = 0; gpu < gpus; gpu++) {
    // The service that is furthest behind its part is next.
    let next = -1;
    let behind = 0;
    services.forEach((service, i) => {
      const due = (left[i] ?? 0) / service.gpus;
      if (due > behind) {
        behind = due;
        next = i;
      }
    });
    hosts.push(next);
    if (next >= 0) left[next] = (left[next] ?? 0) - 1;
  }
  return hosts;
}

export function newJobs({ jobs, noise }: ClusterPlan, random: RandomStream): JobState[] {
  const numbers = numberRecords(JOB_NUMBERS, jobs.length);
  return jobs.map((job, index) => {
    const state = Object.assign(numbers[index] as NumbersOf<typeof JOB_NUMBERS>, {
      job,
      index,
      phase: "to come" as const,
      seats: [],
      firstStart: Number.NaN,
      finished: Number.NaN,
      starts: 0,
      view: undefined,
    });
    state.estimate = job.seconds * Math.exp(noise.estimate * random.normal());
    state.luck = 1;
    return state;
  });
}

// Objects whose numbers lie side by side in one array. V8 gives each number of an object that changes a place of its own
// in memory. A step of a large cluster reads some twenty numbers of each GPU, and waits for memory more than it computes.

/** Where the numbers of a record begin, for all kinds of records. */
class Row {
  readonly #first: number;
  constructor(first: number) {
    this.#first = first;
  }
  /** The index of its first number. */
  static first = (row: Row): number => row.#first;
}

/**
 * `count` objects with a number of each name, 0 at first. The numbers are no own properties: a spread or `Object.keys`
 * does not see them.
 */
export function numberRecords<Name extends string>(
  names: readonly Name[],
  count: number,
): Record<Name, number>[] {
  const width = names.length;
  const numbers = new Float64Array(width * count);
  class NumberRow extends Row {}
  names.forEach((name, place) => {
    Object.defineProperty(NumberRow.prototype, name, {
      get(this: Row) {
        return numbers[Row.first(this) + place];
      },
      set(this: Row, value: number) {
        numbers[Row.first(this) + place] = value;
      },
    });
  });
  return Array.from(
    { length: count },
    (_, index) => new NumberRow(index * width) as unknown as Record<Name, number>,
  );
}
