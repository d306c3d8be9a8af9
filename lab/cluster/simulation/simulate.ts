// Simulates a day of a cluster, event by event. Between events nothing changes: loads are steps and speeds are
// constant. The order at one instant is: jobs end, jobs get ready, GPUs fail and return, jobs come, loads change. The
// scheduler decides last, so it sees the state after all of these.

import type { Figures } from "../model/figures.ts";
import type { ClusterPlan } from "../model/plan.ts";
import {
  betweenRounds,
  type JobView,
  type SchedulerKind,
  type SeatView,
} from "../schedulers/scheduler.ts";
import { checkPlan } from "./check.ts";
import { look, repair } from "./monitor.ts";
import {
  advance,
  demandOf,
  end,
  fail,
  loseWork,
  obey,
  refresh,
  refreshSeats,
  reshare,
  stop,
  tenantOf,
} from "./moves.ts";
import {
  activeJobs,
  add,
  addFailure,
  DAY,
  type Event,
  gpuOf,
  jobOf,
  type Run,
  start,
  waitingJobs,
} from "./run.ts";
import { GPU, JOB } from "./state.ts";
import { momentOf, viewOf, viewOfJob } from "./view.ts";

export interface Watching {
  /** Called now and then with the simulated seconds so far and the number of jobs that have ended. */
  progress?(now: number, ended: number): void;
}

/** Deterministic: the same plan and scheduler give the same figures. Throws a UserError if the plan cannot run. */
export function simulate(plan: ClusterPlan, kind: SchedulerKind, watching: Watching = {}): Figures {
  const events = simulation(plan, kind, watching);
  for (;;) {
    const { done, value } = events.next();
    if (done) return value;
  }
}

/** The same, event by event: yields the time of each, in simulated seconds, before it happens. */
export function* simulation(
  plan: ClusterPlan,
  kind: SchedulerKind,
  watching: Watching = {},
): Generator<number, Figures, void> {
  checkPlan(plan, kind);
  const run = start(plan, kind);
  for (;;) {
    const event = run.events.take();
    if (!event || run.events.now > plan.atMost) break;
    yield run.events.now;
    happen(run, event);
    if (event.kind === "round") watching.progress?.(run.events.now, run.ended);
    if (run.events.now >= plan.horizon && (kind.idle || run.ended === plan.jobs.length)) break;
  }
  const now = Math.min(run.events.now, plan.atMost);
  run.scene.gpus.forEach((_, gpu) => {
    run.meters.gpu(gpu * run.gpus.width, now);
  });
  for (const job of run.scene.jobs) advance(run, job, now);
  return run.meters.figures(kind.name, run.scene.jobs, now);
}

function happen(run: Run, event: Event): void {
  const { scheduler, scene, plan } = run;
  const { now } = run.events;
  switch (event.kind) {
    case "end":
      end(run, jobOf(run, event.job), event.version);
      break;
    case "ready": {
      const job = jobOf(run, event.job);
      if (job.starts === event.start) refreshSeats(run, job.seats);
      break;
    }
    case "fail":
      fail(run, gpuOf(run, event.gpu));
      break;
    case "repair":
      repair(gpuOf(run, event.gpu), now);
      run.stirred = true;
      addFailure(run, event.gpu);
      break;
    case "come": {
      const job = jobOf(run, event.job);
      job.phase = "waiting";
      job.since = now;
      run.waiting.add(job);
      run.stirred = true;
      break;
    }
    case "step":
      step(run);
      add(run, now + plan.step, event);
      break;
    case "round":
      obey(run, scheduler.plan(viewOf(scene, now, activeJobs(run))), true);
      run.stirred = false;
      add(run, now + plan.interval, event);
      break;
  }
}

/** Changes loads, runs SysMonitor, and lets the scheduler fill free seats and correct shares. */
function step(run: Run): void {
  const { plan, scene, scheduler } = run;
  const { now } = run.events;
  run.nextStep = now + plan.step;
  const place = Math.round(now / plan.step);
  plan.services.forEach((_, i) => {
    scene.forecasts[i]?.observe(now + DAY, run.loads[i]?.[place] ?? 0);
  });
  const loads = run.loads.map((curve) => curve[place] ?? 0);
  const { numbers, width } = run.gpus;
  for (let gpu = 0; gpu < scene.gpus.length; gpu++) {
    const row = gpu * width;
    const service = numbers[row + GPU.service] as number;
    const load =
      service < 0 ? 0 : (loads[service] as number) * (numbers[row + GPU.unevenness] as number);
    refresh(run, gpu, Math.min(1.2, load));
    if (!scheduler.protects) continue;
    const isFree = numbers[row + GPU.tenants] === 0;
    const demand = isFree ? (numbers[row + GPU.onlineActivity] as number) : demandOf(run, gpu);
    if (look(gpuOf(run, gpu), now, demand) && !isFree) evict(run, gpu);
  }
  run.meters.queue(now, run.waiting.size, run.running);
  if (!run.atOnce) return;
  adjust(run);
  const isRound = now % plan.interval === 0;
  if (!isRound && run.stirred && run.waiting.size > 0) fill(run);
}

function evict(run: Run, gpu: number): void {
  for (const job of gpuOf(run, gpu).jobs.map((index) => jobOf(run, index))) {
    run.meters.counts.evictions++;
    loseWork(run, job);
    stop(run, job);
  }
}

/** Lets the scheduler place waiting jobs between rounds. */
function fill(run: Run): void {
  const { scene, scheduler, events } = run;
  run.stirred = false;
  if ((scheduler.jobsPerGpu ?? 1) > 1) {
    const view = viewOf(scene, events.now, activeJobs(run));
    obey(run, scheduler.fill?.(view) ?? [], false);
    // A job that got a neighbour gives it a part of its share at once.
    adjust(run);
    return;
  }
  const { numbers, width } = run.gpus;
  let free = 0;
  for (let row = 0; row < numbers.length; row += width)
    if (numbers[row + GPU.tenants] === 0) free++;
  if (free === 0) return;
  const view = viewOf(scene, events.now, waitingJobs(run, free));
  obey(run, scheduler.fill?.(view) ?? scheduler.plan(betweenRounds(view)), false);
}

function adjust(run: Run): void {
  const { scheduler, scene, events } = run;
  if (!scheduler.adjust) return;
  const moment = momentOf(scene, events.now);
  const { numbers, width } = run.gpus;
  for (let gpu = 0; gpu < scene.gpus.length; gpu++) {
    const count = numbers[gpu * width + GPU.tenants] as number;
    if (count === 0) continue;
    const there: JobView[] = [];
    for (let i = 0; i < count; i++) there.push(viewOfJob(scene, tenantOf(run, gpu, i)));
    const seat = moment.seats[gpu] as SeatView;
    for (const view of there)
      if (isFirstSeat(run, view.index, gpu))
        reshare(run, view.index, scheduler.adjust(seat, view, moment, there));
  }
}

/** Whether that is the first GPU, or the only one, of a job that runs. */
const isFirstSeat = (run: Run, job: number, gpu: number): boolean =>
  run.jobs.numbers[job * run.jobs.width + JOB.width] === 1 || jobOf(run, job).seats[0] === gpu;
