// One running simulation: its state, its calendar, and how both begin.
import { type DailyForecast, dailyForecast } from "#place";
import { loadCurve } from "../model/load.ts";
import type { ClusterPlan } from "../model/plan.ts";
import { campaign, learn, offlineCampaign } from "../model/predictions.ts";
import { queueTable } from "../model/queue.ts";
import { type RandomStream, randomStream } from "../model/random-stream.ts";
import { type PairCache, pairCache } from "../model/sharing.ts";
import { perturb, type Truth } from "../model/truth.ts";
import type { Scheduler, SchedulerKind } from "../schedulers/scheduler.ts";
import { type Calendar, calendar } from "./calendar.ts";
import { type Meters, newMeters } from "./meters.ts";
import { type GpuState, type Gpus, type JobState, type Jobs, newGpus, newJobs } from "./state.ts";
import type { Scene } from "./view.ts";
import { newWaiting, type Waiting } from "./waiting.ts";

export type Event =
  | { readonly kind: "end"; readonly job: number; readonly version: number }
  | { readonly kind: "ready"; readonly job: number; readonly start: number }
  | { readonly kind: "fail" | "repair"; readonly gpu: number }
  | { readonly kind: "come"; readonly job: number }
  | { readonly kind: "step" }
  | { readonly kind: "round" };

const PRIORITY: Readonly<Record<Event["kind"], number>> = {
  end: 0,
  ready: 1,
  fail: 2,
  repair: 2,
  come: 3,
  step: 4,
  round: 5,
};

export const DAY = 86_400;

export interface Run {
  readonly plan: ClusterPlan;
  readonly scheduler: Scheduler;
  /** Whether it also decides between rounds. */
  readonly atOnce: boolean;
  readonly truth: Truth;
  readonly scene: Scene & {
    readonly gpus: readonly GpuState[];
    readonly jobs: readonly JobState[];
  };
  /** The same, as steps read them. */
  readonly gpus: Gpus;
  readonly jobs: Jobs;
  readonly events: Calendar<Event>;
  readonly meters: Meters;
  /** The loads of each service, step by step from the start. */
  readonly loads: readonly Float64Array[];
  readonly pairs: PairCache;
  readonly luck: RandomStream;
  readonly mishaps: RandomStream;
  readonly waiting: Waiting;
  /** How many run. */
  running: number;
  ended: number;
  /** Whether jobs came or left since the scheduler was last asked. */
  stirred: boolean;
  nextStep: number;
}

export function start(plan: ClusterPlan, kind: SchedulerKind): Run {
  const scheduler = kind.make();
  const stream = (name: string) => randomStream(plan.seed, name);
  const truth = perturb(plan.truth, stream("pairs"), plan.noise.pair);
  const days = plan.services.map((service) =>
    loadCurve(
      service.load,
      { from: -DAY, to: plan.atMost + plan.step, step: plan.step },
      stream(`load ${service.workload.name}`),
    ),
  );
  const gpus = newGpus(plan, stream("gpus"), scheduler.jobsPerGpu ?? 1);
  const jobs = newJobs(plan, stream("estimates"));
  const yesterday = Math.round(DAY / plan.step);
  const scene = {
    plan,
    gpus: gpus.gpus,
    gpuNumbers: gpus.numbers,
    gpuWidth: gpus.width,
    jobs: jobs.jobs,
    views: Array<undefined>(plan.jobs.length).fill(undefined),
    predictions: learn(
      campaign(truth, profiledPairs(plan, stream("profiled")), stream("campaign")),
      plan.forecast,
      (scheduler.jobsPerGpu ?? 1) > 1
        ? offlineCampaign(
            truth,
            profiledGroups(plan, stream("profiled groups")),
            stream("offline campaign"),
          )
        : [],
    ),
    forecasts: days.map((curve) => rememberDay(curve.subarray(0, yesterday), plan.step)),
    meters: stream("meters"),
    protects: scheduler.protects,
    last: { now: 0, view: 0, seats: [] },
  };
  const run: Run = {
    plan,
    scheduler,
    atOnce: kind.trigger === "once",
    truth,
    scene,
    gpus,
    jobs,
    events: calendar<Event>(),
    meters: newMeters(
      plan,
      plan.services.map(({ cv }) => queueTable(cv)),
      gpus.numbers,
    ),
    loads: days.map((curve) => curve.subarray(yesterday)),
    pairs: pairCache(),
    luck: stream("luck"),
    mishaps: stream("mishaps"),
    waiting: newWaiting(),
    running: 0,
    ended: 0,
    stirred: false,
    nextStep: 0,
  };
  plan.jobs.forEach(({ submitted }, job) => {
    add(run, submitted, { kind: "come", job });
  });
  for (const { index } of scene.gpus) addFailure(run, index);
  add(run, 0, { kind: "step" });
  add(run, 0, { kind: "round" });
  return run;
}

/** All pairs of a service and a job's workload, or the part of them that the plan says. */
function profiledPairs({ services, jobs, profiled }: ClusterPlan, order: RandomStream) {
  const online = [...new Set(services.map(({ workload }) => workload))];
  const offline = [...new Set(jobs.map(({ workload }) => workload))];
  return drawn(
    online.flatMap((one) => offline.map((other) => [one, other] as const)),
    profiled,
    order,
  );
}

/** The same for pairs of jobs' workloads. */
function profiledGroups({ jobs, profiled }: ClusterPlan, order: RandomStream) {
  const offline = [...new Set(jobs.map(({ workload }) => workload))];
  return drawn(
    offline.flatMap((one) => offline.map((other) => [one, other] as const)),
    profiled,
    order,
  );
}

function drawn<T>(pairs: readonly T[], part: number, order: RandomStream): T[] {
  const mixed = pairs
    .map((pair) => ({ pair, place: order.uniform() }))
    .sort((a, b) => a.place - b.place);
  return mixed.slice(0, Math.ceil(part * pairs.length)).map(({ pair }) => pair);
}

function rememberDay(curve: Float64Array, step: number): DailyForecast {
  const forecast = dailyForecast();
  curve.forEach((load, i) => {
    forecast.observe(i * step, load);
  });
  return forecast;
}

export const add = (run: Run, at: number, event: Event): void =>
  run.events.add(at, PRIORITY[event.kind], event);

export function addFailure(run: Run, gpu: number): void {
  const { gpuPerDay } = run.plan.faults;
  if (gpuPerDay <= 0) return;
  const at = run.events.now + (run.mishaps.exponential() * DAY) / gpuPerDay;
  if (at <= run.plan.atMost) add(run, at, { kind: "fail", gpu });
}

/** Each job that runs, once. */
export function runningJobs(run: Run): readonly JobState[] {
  const found: JobState[] = [];
  for (const { index, jobs } of run.scene.gpus)
    for (const job of jobs) {
      const state = jobOf(run, job);
      if (state.seats[0] === index) found.push(state);
    }
  return found;
}

/** Jobs that run, and those that wait as far as the scheduler looks at them, in the order of submission. */
export const activeJobs = (run: Run): readonly JobState[] =>
  [...runningJobs(run), ...waitingJobs(run, run.scene.gpus.length)].sort(
    (a, b) => a.index - b.index,
  );

/** `seats`: how many are free. */
export const waitingJobs = (run: Run, seats: number): readonly JobState[] =>
  run.waiting.first(run.scheduler.inOrder ? seats : Number.POSITIVE_INFINITY);

export const jobOf = (run: Run, index: number): JobState => run.scene.jobs[index] as JobState;

export const gpuOf = (run: Run, index: number): GpuState => run.scene.gpus[index] as GpuState;
