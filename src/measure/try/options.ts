// A person's options about their own two jobs.
import type { GpuKind } from "#agent";
import type { AppLatency } from "./latencies.ts";
import type { Ready } from "./ready.ts";

export interface TryOptions {
  /** An empty folder for logs and the agents' run directories. */
  readonly directory: string;
  readonly gpu: GpuKind;
  readonly uid: number;
  /** The words that start this program. */
  readonly cotenant: readonly string[];
  readonly service: readonly string[];
  readonly training: readonly string[];
  /** For a shell: sends requests to the service. */
  readonly load: string | undefined;
  /** undefined: the service is ready when it uses the GPU. */
  readonly ready: Ready | undefined;
  readonly latency: AppLatency | undefined;
  /** Lines of the training's output that match are steps. */
  readonly progress: RegExp | undefined;
  /** Length of a window. */
  readonly seconds: number;
  readonly rounds: number;
  /** Seconds of the jobs' work that do not count, after each start. */
  readonly warmUp: number;
  /** Seconds in which a job must be ready. */
  readonly startWithin: number;
  /** How much slower the service's p99 may be: 0.2 for 20 %. */
  readonly accepted: number;
  /** Why mode mps is left out; undefined: it is measured. */
  readonly withoutMps: string | undefined;
  readonly command: string;
  readonly stop: AbortSignal;
  /** A step begins. `leftS`: seconds until all are done, without those in which jobs become ready. */
  say(line: string, leftS: number): void;
  warn(line: string): void;
}
