// A cluster to simulate, complete and checked: what a scenario file is read into (scenario.ts).
import type { LearnerName } from "#predict";
import type { DailyLoad } from "./load.ts";
import type { Truth } from "./truth.ts";
import type { Workload } from "./workload.ts";

export interface GpuGroup {
  readonly type: string;
  readonly count: number;
  readonly memoryGB: number;
  /** Of solo speed, to the reference GPU's, which the durations in a trace are of. */
  readonly speed: number;
}

export interface Service {
  readonly workload: Workload;
  readonly gpus: number;
  readonly load: DailyLoad;
  /** Standard deviation of a request's service time / its mean. */
  readonly cv: number;
}

export interface Job {
  readonly name: string;
  readonly workload: Workload;
  /** Seconds since the start of the simulation. */
  readonly submitted: number;
  /** Alone on the reference GPU (on all its GPUs at once). */
  readonly seconds: number;
  readonly gpus: number;
  /** A larger number goes strictly first, with schedulers that match. */
  readonly priority: number;
}

/** Times in seconds. */
interface Costs {
  /** Of a start or a move, until a job works. */
  readonly restart: number;
  /** Between checkpoints: what an eviction or a failure loses at most. A move writes one first. */
  readonly checkpoint: number;
  readonly dollarsPerGpuHour: number;
}

interface Faults {
  /** Expected failures of a GPU in a day. */
  readonly gpuPerDay: number;
  readonly repair: number;
}

/** Standard deviations of logarithms. */
interface Noise {
  /** Of a pair from the table of pairs. */
  readonly pair: number;
  /** Of one start from another of the same pair. */
  readonly start: number;
  /** Of what meters and owners' estimates of remaining time say. */
  readonly meter: number;
  readonly estimate: number;
}

export interface ClusterPlan {
  readonly name: string;
  readonly about: string;
  readonly seed: number;
  /** The online side is looked at for so long; jobs may go on until `atMost`. Seconds, as all times here. */
  readonly horizon: number;
  readonly atMost: number;
  readonly step: number;
  readonly interval: number;
  readonly gpus: readonly GpuGroup[];
  readonly gpusPerNode: number;
  /** Of a GPU's memory, what best-effort jobs may use; MuxFlow, section 6: 40 %. */
  readonly memoryQuota: number;
  readonly services: readonly Service[];
  readonly jobs: readonly Job[];
  readonly truth: Truth;
  /** Part of the pairs that were profiled before; the others' forecast is by likeness. */
  readonly profiled: number;
  /** What schedulers' forecasts are learned with. */
  readonly forecast: LearnerName;
  readonly costs: Costs;
  readonly faults: Faults;
  readonly noise: Noise;
}
