// What a run of the synthetic client is to do, and what it reports.
import type { Bytes } from "#core";
import type { Arrivals } from "./arrivals/arrivals.ts";
import type { KernelName } from "./kernels.ts";

export const shapes = ["compute", "memory", "mixed"] as const;
type Shape = (typeof shapes)[number];

/**
 * How completion is noticed. `stream` and `event-sync` block in the driver, `event-query` asks again and
 * again, `copy` is a synchronous copy of the result, `poll` reads a pinned word that the last copy of the
 * request writes: then no CUDA call tells anyone that the request is over.
 */
export const awaits = ["stream", "event-query", "event-sync", "copy", "poll"] as const;
export type Await = (typeof awaits)[number];

/** What a request is, and how it is submitted. */
export interface Work {
  readonly shape: Shape;
  /** Kernels in a request. */
  readonly kernels: number;
  /** Wanted duration of one kernel among others of its kind, in us. */
  readonly kernelUs: number;
  /** SMs a kernel takes; 0 = all. */
  readonly sms: number;
  /** Blocks of a kernel, in rounds of what its SMs hold at once. */
  readonly waves: number;
  /** Submit a request as one CUDA graph. */
  readonly graph: boolean;
  /** Seconds of requests back to back before the first that counts. */
  readonly warmup: number;
  readonly copyIn: Bytes;
  readonly copyOut: Bytes;
  /** Closed loop: requests in flight. One on a stream with others waits for those as well if awaited by `stream`. */
  readonly depth: number;
  readonly await: Await;
  /** Requests take them in turn. */
  readonly streams: number;
  /** Device memory to hold, unused. */
  readonly memory: Bytes;
  readonly seed: number;
}

export interface Plan extends Work {
  readonly arrivals: Arrivals;
  readonly seconds: number;
}

/** The kernels of a request, in order. */
export const kernelsOf = (work: Work): KernelName[] =>
  Array.from({ length: work.kernels }, (_, i) => {
    if (work.shape !== "mixed") return work.shape;
    return i % 2 === 0 ? "compute" : "memory";
  });

/** Times in ns since the run's origin. */
export interface Served {
  readonly arrival: number;
  /** Begin of submission. */
  readonly start: number;
  readonly done: number;
}

export interface Calibration {
  readonly iterations: number;
  /** What a kernel took, back to back with others, at that many iterations. */
  readonly kernelUs: number;
  readonly blocks: number;
}

export interface Result {
  readonly version: 1;
  readonly gpu: string;
  readonly shape: Shape;
  readonly requests: number;
  readonly seconds: number;
  readonly throughputPerS: number;
  /** Arrival to done. */
  readonly latencyUs: Quantiles & { readonly max: number };
  /** Begin of submission to done. */
  readonly serviceUs: Quantiles;
  readonly calibration: Partial<Record<KernelName, Calibration>>;
  /** Every kernel of every request took place exactly once. */
  readonly intact: boolean;
  /** SHA-256 of what three requests make of a fresh state: the same with and without the interposer. */
  readonly checksum: string;
}

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly mean: number;
}
