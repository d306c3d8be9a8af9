// What a scheduler sees, and what it may say. It sees profiles, meters and its own forecasts; never the truth of a
// pair, another one's remaining time where it was not told, or the future.
import type { Predictions } from "../predictions.ts";
import type { Mechanism } from "../sharing.ts";
import type { Workload } from "../workload.ts";

export interface SeatView {
  readonly index: number;
  /** GPUs of a node are joined by a fast link. */
  readonly node: number;
  readonly type: string;
  /** What best-effort jobs may use. */
  readonly freeMemoryGB: number;
  /** May take new best-effort work. */
  readonly healthy: boolean;
  readonly online: Workload | undefined;
  /** Load of the online side now and its SM activity, 0 to 1, as measured, with the meters' noise. */
  readonly load: number;
  readonly activity: number;
  /** The largest load predicted until then, from the days before. */
  peakLoad(until: number): number;
  /** Jobs on it, by index. */
  readonly jobs: readonly number[];
}

export interface JobView {
  readonly index: number;
  readonly name: string;
  readonly workload: Workload;
  readonly gpus: number;
  readonly submitted: number;
  readonly priority: number;
  /** Seconds that it has run so far. */
  readonly attained: number;
  /** Seconds alone that its owner says are left; schedulers that do not ask for it must not look. */
  readonly remaining: number;
  /** Where it is now; undefined while it waits. */
  readonly placed: Placed | undefined;
}

export interface Placed {
  readonly seats: readonly number[];
  readonly share: number;
  /** As measured since it runs there; undefined while it restarts. */
  readonly retained: number | undefined;
  /** Of the online side's service time, as measured meanwhile. */
  readonly slowdown: number | undefined;
}

export interface View {
  readonly now: number;
  /** Until the next round, seconds. */
  readonly interval: number;
  /** What a start costs a job, seconds. */
  readonly restart: number;
  readonly seats: readonly SeatView[];
  /** Waiting and running, in the order of submission. */
  readonly jobs: readonly JobView[];
  readonly predictions: Predictions;
}

export interface Order {
  readonly job: number;
  readonly seats: readonly number[];
  readonly share: number;
}

export interface Scheduler {
  readonly mechanism: Mechanism;
  /** Best-effort work is kept off GPUs that SysMonitor finds unhealthy, and driven from those over the limit. */
  readonly protects: boolean;
  /** On a GPU at most, one unless said. Where it is more, pairs of jobs are part of the profiling campaign. */
  readonly jobsPerGpu?: number;
  /** Every interval: all that shall run from now on. A job without an order stops. */
  plan(view: View): readonly Order[];
  /** Each step in which jobs came or left: orders for jobs that wait, on seats with room. */
  fill?(view: View): readonly Order[];
  /** Each step: another share for a job that runs; no restart. */
  adjust?(seat: SeatView, job: JobView, view: View): number;
}

/** `summary` is the help text. A scheduler may remember things, so each run makes its own. */
export interface SchedulerKind {
  readonly name: string;
  readonly summary: string;
  /** Jobs on several GPUs at once. */
  readonly gangs: boolean;
  /** It never runs a job: there is nothing to wait for. */
  readonly idle?: boolean;
  make(): Scheduler;
}
