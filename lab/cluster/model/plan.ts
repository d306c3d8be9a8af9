// A cluster to simulate, complete and checked. scenario.ts reads it from a scenario file.
import type { LearnerName } from "#predict";
import type { DailyLoad, LoggedLoad } from "./load.ts";
import type { Truth } from "./truth.ts";
import type { Workload } from "./workload.ts";

export interface GpuGroup {
  readonly type: string;
  readonly count: number;
  readonly memoryGB: number;
  /** Solo speed, relative to the reference GPU. The durations of a trace are those of the reference GPU. */
  readonly speed: number;
}

export interface Service {
  readonly workload: Workload;
  readonly gpus: number;
  readonly load: DailyLoad | LoggedLoad;
  /** Standard deviation of a request's service time, divided by its mean. */
  readonly cv: number;
}

export interface Job {
  readonly name: string;
  readonly workload: Workload;
  /** In seconds since the start of the simulation. */
  readonly submitted: number;
  /** Duration alone on the reference GPU, or on as many of them as the job uses. */
  readonly seconds: number;
  readonly gpus: number;
  /** With schedulers that match, a job with a larger number always goes first. */
  readonly priority: number;
}

/** Times are in seconds. */
interface Costs {
  /** From a start or a move until the job works. */
  readonly restart: number;
  /** Time between checkpoints, which bounds what an eviction or a failure loses. A move writes a checkpoint first. */
  readonly checkpoint: number;
  readonly dollarsPerGpuHour: number;
}

interface Faults {
  /** Expected failures of one GPU a day. */
  readonly gpuPerDay: number;
  readonly repair: number;
}

/** Standard deviations of logarithms. */
interface Noise {
  /** How much a pair differs from the table of pairs. */
  readonly pair: number;
  /** How much one start of a pair differs from another. */
  readonly start: number;
  /** The error of meters, and of owners' estimates of the remaining time. */
  readonly meter: number;
  readonly estimate: number;
}

export interface ClusterPlan {
  readonly name: string;
  readonly about: string;
  readonly seed: number;
  /** Services are measured for this long. Jobs may run until `atMost`. All times are in seconds. */
  readonly horizon: number;
  readonly atMost: number;
  readonly step: number;
  readonly interval: number;
  readonly gpus: readonly GpuGroup[];
  readonly gpusPerNode: number;
  /** The part of a GPU's memory that best-effort jobs may use. MuxFlow, section 6: 40 %. */
  readonly memoryQuota: number;
  readonly services: readonly Service[];
  readonly jobs: readonly Job[];
  readonly truth: Truth;
  /** The part of the pairs that were profiled before. The others are predicted from similar pairs. */
  readonly profiled: number;
  /** The learner behind the schedulers' forecasts. */
  readonly forecast: LearnerName;
  readonly costs: Costs;
  readonly faults: Faults;
  readonly noise: Noise;
}
