// The simulator's state of GPUs and jobs. Only simulate.ts and its helpers change it.

import type { Monitor } from "#health";
import type { ClusterPlan, Job, Service } from "../model/plan.ts";
import type { RandomStream } from "../model/random-stream.ts";
import { type Neighbours, sharingNumbers, TENANT } from "../model/sharing.ts";
import { workingMonitor } from "./monitor.ts";

/** The numbers of a GPU. Those of its tenants follow, as sharing.ts says. */
const GPU_NUMBERS = [
  ...(["load", "backlog", "backlogAlone", "since", "usedMemoryGB", "memoryGB"] as const),
  ...(["unevenness", "speed", "service", "requestSeconds", "tenants"] as const),
  ...sharingNumbers,
] as const;
/** The numbers of a job. Those that each step changes are the first. */
const JOB_NUMBERS = [
  ...(["since", "done", "held", "worth", "measured", "measuredSeconds", "rate"] as const),
  ...(["retained", "version", "seconds", "width", "share", "readyAt", "luck"] as const),
  ...(["doneAtStart", "estimate"] as const),
] as const;
/** Places of the numbers in the row of a GPU, and of a job. */
export const GPU = placesOf(GPU_NUMBERS);
export const JOB = placesOf(JOB_NUMBERS);
/** Where what sharing.ts computes begins in a GPU's row. */
export const SHARING = GPU[sharingNumbers[0]];

/** Its present state is there, too: `sharingNumbers`. */
export interface GpuState extends NumbersOf<typeof GPU_NUMBERS> {
  readonly index: number;
  readonly node: number;
  readonly type: string;
  /** Solo speed, relative to the reference GPU. */
  readonly speed: number;
  readonly memoryGB: number;
  readonly freeMemoryGB: number;
  /** The index of its service, or -1; and how long a request of it takes alone on this GPU. */
  readonly service: number;
  readonly requestSeconds: number;
  /** How much busier it is than the service's average GPU, as a factor. */
  readonly unevenness: number;
  monitor: Monitor;
  load: number;
  /** Work of waiting requests in seconds: now, and if the service were alone. */
  backlog: number;
  backlogAlone: number;
  jobs: number[];
  /** How many jobs its figures are of. */
  tenants: number;
  /** Memory in use. */
  usedMemoryGB: number;
  /** Since when its figures apply. */
  since: number;
}

export interface JobState {
  readonly job: Job;
  readonly index: number;
  /** Copies of `job`'s values for steps: its solo seconds, and its number of GPUs. */
  readonly seconds: number;
  readonly width: number;
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
}

type NumbersOf<Names extends readonly string[]> = Record<Names[number], number>;

/** All GPUs, and what steps read of them: rows of numbers, and who shares each. */
export interface Gpus {
  readonly gpus: readonly GpuState[];
  readonly numbers: Float64Array;
  readonly width: number;
  /** Undefined after a job came, left, began to work or got another share. */
  readonly neighbours: (Neighbours | undefined)[];
}

export interface Jobs {
  readonly jobs: readonly JobState[];
  readonly numbers: Float64Array;
  readonly width: number;
}

/** `most`: how many jobs run on a GPU at most. */
export function newGpus(
  { gpus, gpusPerNode, services, memoryQuota }: ClusterPlan,
  random: RandomStream,
  most: number,
): Gpus {
  const hosts = spreadServices(
    services,
    gpus.reduce((sum, { count }) => sum + count, 0),
  );
  const { records, numbers, width } = numberRecords(GPU_NUMBERS, hosts.length, most * TENANT.width);
  const monitor = workingMonitor();
  const states = gpus
    .flatMap((group) => Array<typeof group>(group.count).fill(group))
    .map(({ type, speed, memoryGB }, index) => {
      const service = hosts[index] ?? -1;
      const host = services[service];
      const gpu = Object.assign(records[index] as NumbersOf<typeof GPU_NUMBERS>, {
        index,
        node: Math.floor(index / gpusPerNode),
        type,
        freeMemoryGB: host
          ? Math.min(memoryQuota * memoryGB, memoryGB - host.workload.memoryGB)
          : memoryGB,
        monitor,
        jobs: [],
      });
      gpu.service = service;
      gpu.requestSeconds = (host?.workload.requestMs ?? 0) / 1000 / speed;
      gpu.speed = speed;
      gpu.memoryGB = memoryGB;
      gpu.unevenness = Math.exp((host?.load.spread ?? 0) * random.normal());
      gpu.usedMemoryGB = host?.workload.memoryGB ?? 0;
      gpu.slowdown = 1;
      return gpu;
    });
  return { gpus: states, numbers, width, neighbours: Array(states.length).fill(undefined) };
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

export function newJobs({ jobs, noise }: ClusterPlan, random: RandomStream): Jobs {
  const { records, numbers, width } = numberRecords(JOB_NUMBERS, jobs.length);
  const states = jobs.map((job, index) => {
    const state = Object.assign(records[index] as NumbersOf<typeof JOB_NUMBERS>, {
      job,
      index,
      phase: "to come" as const,
      seats: [],
      firstStart: Number.NaN,
      finished: Number.NaN,
      starts: 0,
    });
    state.estimate = job.seconds * Math.exp(noise.estimate * random.normal());
    state.luck = 1;
    state.seconds = job.seconds;
    state.width = job.gpus;
    return state;
  });
  return { jobs: states, numbers, width };
}

// Objects whose numbers lie side by side in one array. V8 gives each number of an object that changes a place of its own
// in memory. A step of a large cluster reads some twenty numbers of each GPU, and waits for memory more than it computes.
// Each step reads its values from the array, by row and place, so that it need not load the objects.

/** Where the numbers of a record begin, for all kinds of records. */
class Row {
  readonly #first: number;
  constructor(first: number) {
    this.#first = first;
  }
  /** The index of its first number. */
  static first = (row: Row): number => row.#first;
}

function placesOf<Name extends string>(names: readonly Name[]): Readonly<Record<Name, number>> {
  return Object.fromEntries(names.map((name, place) => [name, place])) as Record<Name, number>;
}

/**
 * `count` objects with a number of each name, 0 at first, and the rows of the array that they are in: each has `width`
 * numbers, of which the last `more` have no name. The numbers are no own properties: a spread or `Object.keys` does not
 * see them.
 */
export function numberRecords<Name extends string>(
  names: readonly Name[],
  count: number,
  more = 0,
): { records: Record<Name, number>[]; numbers: Float64Array; width: number } {
  const width = names.length + more;
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
  const records = Array.from(
    { length: count },
    (_, index) => new NumberRow(index * width) as unknown as Record<Name, number>,
  );
  return { records, numbers, width };
}
