// The inputs of a scheduler, and its orders. It sees profiles, meters and its own forecasts. It never sees the truth
// of a pair, the future, or a remaining time that it was not told.
import type { Predictions } from "../model/predictions.ts";
import type { Mechanism } from "../model/sharing.ts";
import type { Workload } from "../model/workload.ts";

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

/** A scheduler's view of the cluster, without the jobs. */
export interface Moment {
  readonly now: number;
  /** Seconds until the next round. */
  readonly interval: number;
  /** Seconds that a start costs a job. */
  readonly restart: number;
  readonly seats: readonly SeatView[];
  readonly predictions: Predictions;
}

export interface View extends Moment {
  /** Jobs that wait or run, in the order of submission. */
  readonly jobs: readonly JobView[];
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
  /**
   * Whether it serves jobs of the same workload, width and priority in the order of submission. Then it sees only as
   * many waiting ones of each kind as there are GPUs, because no others could start.
   */
  readonly inOrder?: boolean;
  /** The most jobs on a GPU; default 1. If it is more, the profiling campaign also measures pairs of jobs. */
  readonly jobsPerGpu?: number;
  /** Called every interval. Returns orders for all jobs that shall run from now on. A job without an order stops. */
  plan(view: View): readonly Order[];
  /**
   * Between rounds, if it decides at once: called in each step in which jobs came or left. Returns orders for waiting
   * jobs, on seats with room. The view has running jobs only if it puts several on a GPU. By default what `plan` says
   * of the waiting jobs and the free seats alone.
   */
  fill?(view: View): readonly Order[];
  /**
   * Between rounds, if it decides at once: called in each step for each running job, with the first of its seats and all
   * jobs that run there. Returns another share for the job, which does not restart. By default shares stay.
   */
  adjust?(seat: SeatView, job: JobView, moment: Moment, there: readonly JobView[]): number;
}

/** When a scheduler decides: in rounds only, or also at once, in each step in which jobs came or left. */
export type Trigger = "rounds" | "once";

/** The number that trades the jobs' speed against the services' latency. */
export interface Knob {
  readonly about: string;
  readonly least: number;
  readonly most: number;
  readonly usual: number;
}

/** `summary` is the help text. A scheduler may have state, so each run makes its own. */
export interface SchedulerKind {
  readonly name: string;
  readonly summary: string;
  /** Whether it runs jobs on several GPUs at once. */
  readonly gangs: boolean;
  /** As published: of a scenario whose triggers are "published". */
  readonly trigger: Trigger;
  readonly knob?: Knob;
  /** Whether it never runs a job, so that nothing has to be waited for. */
  readonly idle?: boolean;
  /** `setting`: of its knob. */
  make(setting?: number): Scheduler;
}

/** Between rounds only free seats are looked at. Seats keep their places in the list. */
export const betweenRounds = (view: View): View => ({
  ...view,
  seats: view.seats.map((seat) => (seat.jobs.length === 0 ? seat : closed(seat))),
});

const closed = (seat: SeatView): SeatView => ({
  index: seat.index,
  node: seat.node,
  type: seat.type,
  freeMemoryGB: seat.freeMemoryGB,
  healthy: false,
  online: seat.online,
  jobs: seat.jobs,
  get load() {
    return seat.load;
  },
  get activity() {
    return seat.activity;
  },
  peakLoad: (until) => seat.peakLoad(until),
});
