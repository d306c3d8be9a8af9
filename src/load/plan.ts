import type { Bytes } from "#core";
import type { Arrivals } from "./arrivals/arrivals.ts";
import type { KernelName } from "./kernels.ts";

export const shapes = ["compute", "memory", "mixed"] as const;
type Shape = (typeof shapes)[number];

/** `poll` reads a pinned word that the request's last copy writes: no CUDA call shows its end. */
export const awaits = ["stream", "event-query", "event-sync", "copy", "poll"] as const;
export type Await = (typeof awaits)[number];

export interface Work {
  readonly shape: Shape;
  readonly kernels: number;
  readonly kernelUs: number;
  readonly sms: number; // 0: all
  readonly waves: number; // 1: the blocks that its SMs hold at once
  readonly graph: boolean; // a request is one CUDA graph
  readonly warmup: number; // seconds of requests that do not count
  readonly copyIn: Bytes;
  readonly copyOut: Bytes;
  readonly depth: number; // closed loop: requests in flight
  readonly await: Await;
  readonly streams: number;
  readonly memory: Bytes; // it is held, unused
  readonly seed: number;
  readonly tokens: number; // a short burst comes before each, as of an LLM engine; 0: none
  readonly report: boolean;
}

export interface Plan extends Work {
  readonly arrivals: Arrivals;
  readonly seconds: number;
}

export const kernelsOf = (work: Work): KernelName[] =>
  Array.from({ length: work.kernels }, (_, i) => {
    if (work.shape !== "mixed") return work.shape;
    return i % 2 === 0 ? "compute" : "memory";
  });

/** Times are in ns since the run's origin. */
export interface Served {
  readonly arrival: number;
  readonly start: number; // submission begins
  readonly done: number;
  readonly streamed?: Streamed | undefined;
}

export interface Streamed {
  readonly first: number;
  readonly tokens: number;
}

export interface Calibration {
  readonly iterations: number;
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
  readonly latencyUs: Quantiles & { readonly max: number };
  readonly serviceUs: Quantiles;
  readonly calibration: Partial<Record<KernelName, Calibration>>;
  readonly intact: boolean;
  /** SHA-256 of the state that three requests make, with or without the interposer. */
  readonly checksum: string;
}

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly mean: number;
}
