// What a scheduler sees, and what it may order. It sees profiles, meters and its own forecasts. It never sees the truth
// of a pair, the future, or a remaining time that it was not told.
import type { Predictions } from "../predictions.ts";
import type { Mechanism } from "../sharing.ts";
import type { Workload } from "../workload.ts";

export interface SeatView {
  readonly index: number;
  /** GPUs of one node are joined by a fast link. */
  readonly node: number;
  readonly type: string;
  /** The memory that best-effort jobs may use. */
  readonly freeMemoryGB: number;
  /** Whether it may take new best-effort work. */
  readonly healthy: boolean;
  readonly online: Workload | undefined;
  /** Load and SM activity of the online side now, 0 to 1, as measured with the meters' noise. */
  readonly load: number;
  readonly activity: number;
  /** The largest load predicted until then, based on the days before. */
  peakLoad(until: number): number;
  /** Indices of the jobs on it. */
  readonly jobs: readonly number[];
}

export interface JobView {
  readonly index: number;
  readonly name: string;
  readonly workload: Workload;
  readonly gpus: number;
  readonly submitted: number;
  readonly priority: number;
  /** For how many seconds it has run so far. */
  readonly attained: number;
  /** The remaining seconds alone, as its owner estimates. Only schedulers that order jobs by it read it. */
  readonly remaining: number;
  /** Where it runs now; undefined while it waits. */
  readonly placed: Placed | undefined;
}

export interface Placed {
  readonly seats: readonly number[];
  readonly share: number;
  /** Measured since it runs there; undefined while it restarts. */
  readonly retained: number | undefined;
  /** Slowdown of the online side's service time, measured over the same time. */
  readonly slowdown: number | undefined;
}

export interface View {
  readonly now: number;
  /** Seconds until the next round. */
  readonly interval: number;
  /** Seconds that a start costs a job. */
  readonly restart: number;
  readonly seats: readonly SeatView[];
  /** Jobs that wait or run, in the order of submission. */
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
  /**
   * Whether best-effort work is kept off GPUs that SysMonitor finds unhealthy, and evicted from those over the limit.
   */
  readonly protects: boolean;
  /** The most jobs on a GPU; default 1. If it is more, the profiling campaign also measures pairs of jobs. */
  readonly jobsPerGpu?: number;
  /** Called every interval. Returns orders for all jobs that shall run from now on. A job without an order stops. */
  plan(view: View): readonly Order[];
  /** Called in each step in which jobs came or left. Returns orders for waiting jobs, on seats with room. */
  fill?(view: View): readonly Order[];
  /** Called in each step. Returns another share for a running job, which does not restart. */
  adjust?(seat: SeatView, job: JobView, view: View): number;
}

/** `summary` is the help text. A scheduler may have state, so each run makes its own. */
export interface SchedulerKind {
  readonly name: string;
  readonly summary: string;
  /** Whether it runs jobs on several GPUs at once. */
  readonly gangs: boolean;
  /** Whether it never runs a job, so that nothing has to be waited for. */
  readonly idle?: boolean;
  make(): Scheduler;
}
