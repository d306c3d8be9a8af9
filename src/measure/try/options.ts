import type { GpuKind } from "#agent";
import type { AppLatency } from "./latencies.ts";
import type { Ready } from "./ready.ts";

export interface TryOptions {
  readonly directory: string; // it is empty, for logs and run directories
  readonly gpu: GpuKind;
  readonly uid: number;
  readonly cotenant: readonly string[];
  readonly service: readonly string[];
  readonly training: readonly string[];
  readonly load: string | undefined; // a shell command that sends requests
  readonly ready: Ready | undefined; // undefined: the service is ready when it uses the GPU
  readonly latency: AppLatency | undefined;
  readonly progress: RegExp | undefined; // it matches lines that are steps
  readonly seconds: number;
  readonly rounds: number;
  readonly warmUp: number; // seconds after each start that do not count
  readonly startWithin: number; // seconds
  readonly accepted: number; // 0.2 accepts a p99 that is 20 % higher
  readonly withoutMps: string | undefined;
  readonly command: string;
  readonly stop: AbortSignal;
  /** `leftS`: seconds until all are done, without those in which jobs become ready. */
  say(line: string, leftS: number): void;
  warn(line: string): void;
}
