// The plan of a run of the synthetic client, and its result.
import type { Bytes } from "#core";
import type { Arrivals } from "./arrivals/arrivals.ts";
import type { KernelName } from "./kernels.ts";

export const shapes = ["compute", "memory", "mixed"] as const;
type Shape = (typeof shapes)[number];

/**
 * How the client notices that a request is done. `stream` and `event-sync` block in the driver. `event-query` asks
 * repeatedly. `copy` is a synchronous copy of the result. `poll` reads a pinned word that the request's last copy
 * writes, so no CUDA call shows that the request is done.
 */
export const awaits = ["stream", "event-query", "event-sync", "copy", "poll"] as const;
export type Await = (typeof awaits)[number];

/** A request's work, and how it is submitted. */
export interface Work {
  readonly shape: Shape;
  /** Kernels in a request. */
  readonly kernels: number;
  /** The wanted duration of one kernel among others of its kind, in us. */
  readonly kernelUs: number;
  /** SMs a kernel takes; 0 = all. */
  readonly sms: number;
  /** The number of blocks of a kernel, as a multiple of the blocks that its SMs hold at once. */
  readonly waves: number;
  /** Submit a request as one CUDA graph. */
  readonly graph: boolean;
  /** Seconds of requests back to back before the first that counts. */
  readonly warmup: number;
  readonly copyIn: Bytes;
  readonly copyOut: Bytes;
  /** Closed loop: requests in flight. With `stream`, a request also waits for other requests on the same stream. */
  readonly depth: number;
  readonly await: Await;
  /** The number of streams. Requests use them in turn. */
  readonly streams: number;
  /** Device memory to hold, unused. */
  readonly memory: Bytes;
  readonly seed: number;
  /** A request is done so many times, as the tokens of an LLM engine, with a short burst before each; 0: once, without. */
  readonly tokens: number;
  /** Tell Cotenant of each request. */
  readonly report: boolean;
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
  /** If the answer came token by token. */
  readonly streamed?: Streamed | undefined;
}

export interface Streamed {
  /** When the first token was there. */
  readonly first: number;
  readonly tokens: number;
}

export interface Calibration {
  readonly iterations: number;
  /** The duration of a kernel with this number of iterations, back to back with others. */
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
  /** SHA-256 of the state that three requests make of a new one. It is the same with and without the interposer. */
  readonly checksum: string;
}

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly mean: number;
}
