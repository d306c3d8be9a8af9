// Simulates a day of a cluster, event by event. Between events nothing changes: loads are steps and speeds are
// constant. The order at one instant is: jobs end, jobs get ready, GPUs fail and return, jobs come, loads change. The
// scheduler decides last, so it sees the state after all of these.
import { checkPlan } from "./check.ts";
import type { Figures } from "./figures.ts";
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
} from "./moves.ts";
import type { ClusterPlan } from "./plan.ts";
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
import { betweenRounds, type SchedulerKind, type SeatView } from "./schedulers/scheduler.ts";
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
  for (const gpu of run.scene.gpus) run.meters.gpu(gpu, now);
  for (const job of run.scene.jobs) advance(job, now);
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
  for (const gpu of scene.gpus) {
    const load = (run.loads[gpu.service]?.[place] ?? 0) * gpu.unevenness;
    refresh(run, gpu, Math.min(1.2, load));
    if (scheduler.protects && gpu.jobs.length > 0 && look(gpu, now, demandOf(run, gpu))) {
      for (const job of gpu.jobs.map((index) => jobOf(run, index))) {
        run.meters.counts.evictions++;
        loseWork(run, job);
        stop(run, job);
      }
    } else if (scheduler.protects && gpu.jobs.length === 0) look(gpu, now, gpu.onlineActivity);
  }
  run.meters.queue(now, run.waiting.size, run.running);
  if (!run.atOnce) return;
  adjust(run);
  const isRound = now % plan.interval === 0;
  if (!isRound && run.stirred && run.waiting.size > 0) fill(run);
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
  const free = scene.gpus.filter(({ jobs }) => jobs.length === 0).length;
  if (free === 0) return;
  const view = viewOf(scene, events.now, waitingJobs(run, free));
  obey(run, scheduler.fill?.(view) ?? scheduler.plan(betweenRounds(view)), false);
}

function adjust(run: Run): void {
  const { scheduler, scene, events } = run;
  if (!scheduler.adjust) return;
  const moment = momentOf(scene, events.now);
  for (const { index, jobs } of scene.gpus) {
    if (jobs.length === 0) continue;
    const there = jobs.map((job) => viewOfJob(scene, jobOf(run, job)));
    for (const view of there) {
      const state = jobOf(run, view.index);
      if (state.seats[0] === index)
        reshare(run, state, scheduler.adjust(moment.seats[index] as SeatView, view, moment, there));
    }
  }
}
