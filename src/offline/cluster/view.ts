// What a scheduler sees of the state, measured with noise.
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
}

/** `active`: waiting and running jobs in the order of submission. `protects`: unhealthy GPUs get no new work. */
export function viewOf(
  scene: Scene,
  now: number,
  active: readonly JobState[],
  protects: boolean,
): View {
  const { plan, predictions } = scene;
  return {
    now,
    interval: plan.interval,
    restart: plan.costs.restart,
    predictions,
    seats: scene.gpus.map((gpu) => seatView(scene, gpu, protects)),
    jobs: active.map((job) => jobView(scene, job, now)),
  };
}

const withNoise = ({ meters, plan }: Scene, value: number): number =>
  value * (1 + plan.noise.meter * meters.normal());

function seatView(scene: Scene, gpu: GpuState, protects: boolean): SeatView {
  const { health } = gpu.monitor;
  const load = Math.max(0, withNoise(scene, gpu.load));
  return {
    index: gpu.index,
    node: gpu.node,
    type: gpu.type,
    freeMemoryGB: gpu.freeMemoryGB,
    healthy: protects ? health === "healthy" : health !== "disabled",
    online: scene.plan.services[gpu.service]?.workload,
    load,
    activity: Math.min(1, Math.max(0, withNoise(scene, gpu.sharing.onlineActivity))),
    peakLoad(until) {
      const forecast = scene.forecasts[gpu.service];
      const peak = forecast?.peak(until);
      return peak === undefined ? load : peak * gpu.unevenness;
    },
    jobs: gpu.jobs,
  };
}

function jobView(scene: Scene, state: JobState, now: number): JobView {
  const { job, index } = state;
  return {
    index,
    name: job.name,
    workload: job.workload,
    gpus: job.gpus,
    submitted: job.submitted,
    priority: job.priority,
    attained: state.held + (state.phase === "running" ? now - state.since : 0),
    remaining: Math.max(0, state.estimate - state.done),
    placed: state.phase === "running" ? placementOf(scene, state, now) : undefined,
  };
}

function placementOf(scene: Scene, state: JobState, now: number): Placed {
  const { seats, share, measured: sum, measuredSeconds, readyAt } = state;
  const gpu = scene.gpus[seats[0] ?? -1];
  const seen = now > readyAt && measuredSeconds > 0;
  return {
    seats,
    share,
    retained: seen ? withNoise(scene, sum / measuredSeconds) : undefined,
    slowdown: seen && gpu ? Math.max(1, withNoise(scene, gpu.sharing.slowdown)) : undefined,
  };
}
