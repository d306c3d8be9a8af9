// A scheduler's view of the state, measured with noise. A run asks for millions of views. So there is one object for
// each GPU and each start of a job, which reads the state when it is asked. A meter is read once in a view.
import type { DailyForecast } from "#place";
import type { ClusterPlan } from "../model/plan.ts";
import type { Predictions } from "../model/predictions.ts";
import type { RandomStream } from "../model/random-stream.ts";
import type { Workload } from "../model/workload.ts";
import type { JobView, Moment, Placed, SeatView, View } from "../schedulers/scheduler.ts";
import { GPU, type GpuState, type JobState } from "./state.ts";

export interface Scene {
  readonly plan: ClusterPlan;
  readonly gpus: readonly GpuState[];
  /** The numbers of all GPUs, and how many each has. */
  readonly gpuNumbers: Float64Array;
  readonly gpuWidth: number;
  readonly jobs: readonly JobState[];
  /** Views of each job in its phase; undefined until a scheduler looks. */
  readonly views: (JobView | undefined)[];
  readonly predictions: Predictions;
  /** The forecast of each service's average load. */
  readonly forecasts: readonly DailyForecast[];
  readonly meters: RandomStream;
  /** `protects`: unhealthy GPUs get no new work. */
  readonly protects: boolean;
  /** The last view: its time, its number, and its GPUs, which are the same in all views. */
  readonly last: { now: number; view: number; seats: readonly SeatView[] };
}

/** `active`: waiting and running jobs in the order of submission. */
export const viewOf = (scene: Scene, now: number, active: readonly JobState[]): View => ({
  ...momentOf(scene, now),
  jobs: active.map(({ index }) => viewOfJob(scene, index)),
});

export function momentOf(scene: Scene, now: number): Moment {
  const { plan, predictions } = scene;
  scene.last.now = now;
  scene.last.view++;
  if (scene.last.seats.length === 0)
    scene.last.seats = scene.gpus.map((gpu) => new SeenSeat(scene, gpu));
  return {
    now,
    interval: plan.interval,
    restart: plan.costs.restart,
    predictions,
    seats: scene.last.seats,
  };
}

export function viewOfJob(scene: Scene, index: number): JobView {
  const before = scene.views[index];
  if (before) return before;
  const job = scene.jobs[index] as JobState;
  const view = job.phase === "running" ? new RunningJob(scene, job) : waitingJob(job);
  scene.views[index] = view;
  return view;
}

const withNoise = ({ meters, plan }: Scene, value: number): number =>
  value * (1 + plan.noise.meter * meters.normal());

class SeenSeat implements SeatView {
  readonly #scene: Scene;
  readonly #gpu: GpuState;
  readonly #numbers: Float64Array;
  readonly #row: number;
  readonly index: number;
  readonly node: number;
  readonly type: string;
  readonly freeMemoryGB: number;
  readonly online: Workload | undefined;
  /** The view in which each meter was read last, and what it said. */
  #loadView = -1;
  #load = 0;
  #activityView = -1;
  #activity = 0;

  constructor(scene: Scene, gpu: GpuState) {
    this.#scene = scene;
    this.#gpu = gpu;
    this.#numbers = scene.gpuNumbers;
    this.#row = gpu.index * scene.gpuWidth;
    this.index = gpu.index;
    this.node = gpu.node;
    this.type = gpu.type;
    this.freeMemoryGB = gpu.freeMemoryGB;
    this.online = scene.plan.services[gpu.service]?.workload;
  }

  get healthy() {
    const { health } = this.#gpu.monitor;
    return this.#scene.protects ? health === "healthy" : health !== "disabled";
  }

  get jobs() {
    return this.#gpu.jobs;
  }

  get load() {
    const { last } = this.#scene;
    if (this.#loadView !== last.view) {
      this.#loadView = last.view;
      this.#load = Math.max(
        0,
        withNoise(this.#scene, this.#numbers[this.#row + GPU.load] as number),
      );
    }
    return this.#load;
  }

  get activity() {
    const { last } = this.#scene;
    if (this.#activityView !== last.view) {
      this.#activityView = last.view;
      const seen = withNoise(this.#scene, this.#gpu.onlineActivity);
      this.#activity = Math.min(1, Math.max(0, seen));
    }
    return this.#activity;
  }

  peakLoad(until: number) {
    const peak = this.#scene.forecasts[this.#gpu.service]?.peak(until);
    return peak === undefined ? this.load : peak * this.#gpu.unevenness;
  }
}

const fixedOf = ({ index, job: { name, workload, gpus, submitted, priority } }: JobState) => ({
  index,
  name,
  workload,
  gpus,
  submitted,
  priority,
});

const remainingOf = ({ estimate, done }: JobState): number => Math.max(0, estimate - done);

const waitingJob = (state: JobState): JobView => ({
  ...fixedOf(state),
  attained: state.held,
  remaining: remainingOf(state),
  placed: undefined,
});

class RunningJob implements JobView {
  readonly #scene: Scene;
  readonly #state: JobState;
  readonly index: number;
  readonly name: string;
  readonly workload: Workload;
  readonly gpus: number;
  readonly submitted: number;
  readonly priority: number;
  readonly placed: Placed;

  constructor(scene: Scene, state: JobState) {
    const { index, name, workload, gpus, submitted, priority } = fixedOf(state);
    this.#scene = scene;
    this.#state = state;
    this.index = index;
    this.name = name;
    this.workload = workload;
    this.gpus = gpus;
    this.submitted = submitted;
    this.priority = priority;
    this.placed = new Placement(scene, state);
  }

  get attained() {
    return this.#state.held + (this.#scene.last.now - this.#state.since);
  }

  get remaining() {
    return remainingOf(this.#state);
  }
}

class Placement implements Placed {
  readonly #scene: Scene;
  readonly #state: JobState;
  readonly seats: readonly number[];

  constructor(scene: Scene, state: JobState) {
    this.#scene = scene;
    this.#state = state;
    this.seats = state.seats;
  }

  get #isSeen() {
    return this.#scene.last.now > this.#state.readyAt && this.#state.measuredSeconds > 0;
  }

  get share() {
    return this.#state.share;
  }

  get retained() {
    const { measured, measuredSeconds } = this.#state;
    return this.#isSeen ? withNoise(this.#scene, measured / measuredSeconds) : undefined;
  }

  get slowdown() {
    const gpu = this.#scene.gpus[this.seats[0] ?? -1];
    return this.#isSeen && gpu ? Math.max(1, withNoise(this.#scene, gpu.slowdown)) : undefined;
  }
}
