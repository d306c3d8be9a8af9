// What a scheduler sees of the state, measured with noise. A run asks for millions of views. So there is one object for
// each GPU and each start of a job, which reads the state when it is asked. A meter is read once in a view.
import type { DailyForecast } from "#place";
import type { ClusterPlan } from "./plan.ts";
import type { Predictions } from "./predictions.ts";
import type { RandomStream } from "./random-stream.ts";
import type { JobView, Placed, SeatView, View } from "./schedulers/scheduler.ts";
import type { GpuState, JobState } from "./state.ts";

export interface Scene {
  readonly plan: ClusterPlan;
  readonly gpus: readonly GpuState[];
  readonly jobs: readonly JobState[];
  readonly predictions: Predictions;
  /** The forecast of each service's average load. */
  readonly forecasts: readonly DailyForecast[];
  readonly meters: RandomStream;
  /** `protects`: unhealthy GPUs get no new work. */
  readonly protects: boolean;
  /** Of the last view: its time, its number, and what schedulers see of the GPUs, which is the same in all views. */
  readonly last: { now: number; view: number; seats: readonly SeatView[] };
}

/** `active`: waiting and running jobs in the order of submission. */
export function viewOf(scene: Scene, now: number, active: readonly JobState[]): View {
  const { plan, predictions } = scene;
  scene.last.now = now;
  scene.last.view++;
  if (scene.last.seats.length === 0)
    scene.last.seats = scene.gpus.map((gpu) => seatView(scene, gpu));
  return {
    now,
    interval: plan.interval,
    restart: plan.costs.restart,
    predictions,
    seats: scene.last.seats,
    jobs: active.map((job) => {
      job.view ??= jobView(scene, job);
      return job.view;
    }),
  };
}

const withNoise = ({ meters, plan }: Scene, value: number): number =>
  value * (1 + plan.noise.meter * meters.normal());

/** What `read` returns, asked once in each view. */
function oncePerView(scene: Scene, read: () => number): () => number {
  let view = -1;
  let value = 0;
  return () => {
    if (view !== scene.last.view) {
      view = scene.last.view;
      value = read();
    }
    return value;
  };
}

function seatView(scene: Scene, gpu: GpuState): SeatView {
  const load = oncePerView(scene, () => Math.max(0, withNoise(scene, gpu.load)));
  const activity = oncePerView(scene, () =>
    Math.min(1, Math.max(0, withNoise(scene, gpu.sharing.onlineActivity))),
  );
  return {
    index: gpu.index,
    node: gpu.node,
    type: gpu.type,
    freeMemoryGB: gpu.freeMemoryGB,
    online: scene.plan.services[gpu.service]?.workload,
    get healthy() {
      const { health } = gpu.monitor;
      return scene.protects ? health === "healthy" : health !== "disabled";
    },
    get jobs() {
      return gpu.jobs;
    },
    get load() {
      return load();
    },
    get activity() {
      return activity();
    },
    peakLoad(until) {
      const peak = scene.forecasts[gpu.service]?.peak(until);
      return peak === undefined ? load() : peak * gpu.unevenness;
    },
  };
}

function jobView(scene: Scene, state: JobState): JobView {
  const { job, index, estimate } = state;
  const fixed = {
    index,
    name: job.name,
    workload: job.workload,
    gpus: job.gpus,
    submitted: job.submitted,
    priority: job.priority,
  };
  if (state.phase !== "running")
    return {
      ...fixed,
      attained: state.held,
      remaining: Math.max(0, estimate - state.done),
      placed: undefined,
    };
  return {
    ...fixed,
    get attained() {
      return state.held + (scene.last.now - state.since);
    },
    get remaining() {
      return Math.max(0, estimate - state.done);
    },
    placed: placementOf(scene, state),
  };
}

function placementOf(scene: Scene, state: JobState): Placed {
  const gpu = scene.gpus[state.seats[0] ?? -1];
  const isSeen = () => scene.last.now > state.readyAt && state.measuredSeconds > 0;
  return {
    seats: state.seats,
    get share() {
      return state.share;
    },
    get retained() {
      return isSeen() ? withNoise(scene, state.measured / state.measuredSeconds) : undefined;
    },
    get slowdown() {
      return isSeen() && gpu ? Math.max(1, withNoise(scene, gpu.sharing.slowdown)) : undefined;
    },
  };
}
