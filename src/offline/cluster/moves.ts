// What happens to jobs and GPUs: a job starts, stops, ends or loses work, a GPU fails, speeds are computed again.

import { lose } from "./monitor.ts";
import { add, gpuOf, jobOf, type Run, runningJobs } from "./run.ts";
import type { Order } from "./schedulers/scheduler.ts";
import { atLoad, type Neighbours, neighboursOn, type Tenant } from "./sharing.ts";
import type { GpuState, JobState } from "./state.ts";

/** The SMs that both sides need together, as the meters show. */
export function demandOf(run: Run, gpu: GpuState): number {
  const { scene, plan } = run;
  gpu.neighbours ??= neighboursOf(run, gpu);
  const queued = gpu.onlineActivity * gpu.slowdown;
  return (queued + gpu.neighbours.wanted) * (1 + plan.noise.meter * scene.meters.normal());
}

/** `all`: the orders list every job that shall run, and other jobs stop. Otherwise the orders only add jobs. */
export function obey(run: Run, orders: readonly Order[], all: boolean): void {
  const ordered = new Map(orders.map((order) => [order.job, order]));
  if (all)
    for (const job of runningJobs(run)) {
      const order = ordered.get(job.index);
      const same =
        order?.seats.length === job.seats.length &&
        order.seats.every((seat, i) => seat === job.seats[i]);
      if (same && order) {
        reshare(run, job, order.share);
        ordered.delete(job.index);
      } else {
        if (order) run.meters.counts.moves++;
        stop(run, job);
      }
    }
  for (const order of ordered.values()) begin(run, jobOf(run, order.job), order);
}

function begin(run: Run, job: JobState, { seats, share }: Order): void {
  const { now } = run.events;
  if (job.phase !== "waiting")
    throw new Error(`${job.job.name} is to start while it is ${job.phase}`);
  if (seats.length !== job.job.gpus)
    throw new Error(`${job.job.name} got ${seats.length} of ${job.job.gpus} GPUs`);
  advance(job, now);
  run.waiting.remove(job);
  run.running++;
  job.phase = "running";
  job.view = undefined;
  job.seats = seats;
  job.share = share;
  job.luck = Math.exp(run.plan.noise.start * run.luck.normal());
  job.readyAt = now + run.plan.costs.restart;
  job.doneAtStart = job.done;
  job.measured = 0;
  job.measuredSeconds = 0;
  if (job.starts++ === 0) job.firstStart = now;
  for (const seat of seats) gpuOf(run, seat).jobs.push(job.index);
  refreshSeats(run, seats);
  add(run, job.readyAt, { kind: "ready", job: job.index, start: job.starts });
}

/** Takes a job off its GPUs. It keeps its progress. */
export function stop(run: Run, job: JobState): void {
  const { now } = run.events;
  advance(job, now);
  const seats = job.seats;
  job.phase = "waiting";
  job.view = undefined;
  job.seats = [];
  run.waiting.add(job);
  run.running--;
  job.rate = 0;
  job.retained = 0;
  job.version++;
  for (const seat of seats) {
    const gpu = gpuOf(run, seat);
    gpu.jobs = gpu.jobs.filter((index) => index !== job.index);
  }
  refreshSeats(run, seats);
  run.stirred = true;
}

/** Sets a job back to its last checkpoint. */
export function loseWork(run: Run, job: JobState): void {
  const { now } = run.events;
  advance(job, now);
  const sinceCheckpoint = Math.max(0, now - job.readyAt) % run.plan.costs.checkpoint;
  const kept = Math.max(job.doneAtStart, job.done - sinceCheckpoint * job.rate);
  run.meters.counts.lost += job.done - kept;
  job.done = kept;
  job.view = undefined;
}

export function end(run: Run, job: JobState, version: number): void {
  if (job.version !== version || job.phase !== "running") return;
  const { now } = run.events;
  stop(run, job);
  job.phase = "done";
  job.done = job.job.seconds;
  job.finished = now;
  run.waiting.remove(job);
  run.ended++;
}

export function fail(run: Run, gpu: GpuState): void {
  for (const job of gpu.jobs.map((index) => jobOf(run, index))) {
    run.meters.counts.failures++;
    loseWork(run, job);
    stop(run, job);
  }
  lose(gpu, run.events.now);
  add(run, run.events.now + run.plan.faults.repair, { kind: "repair", gpu: gpu.index });
}

export function reshare(run: Run, job: JobState, share: number): void {
  if (Math.abs(share - job.share) < 1e-9) return;
  job.share = share;
  refreshSeats(run, job.seats);
}

/** After a job came to these GPUs, left them, began to work or got another share. */
export function refreshSeats(run: Run, seats: readonly number[]): void {
  for (const seat of seats) {
    const gpu = gpuOf(run, seat);
    gpu.neighbours = undefined;
    refresh(run, gpu, gpu.load);
  }
}

/** Adds up the figures so far, then computes the speeds that apply from now on. */
export function refresh(run: Run, gpu: GpuState, load: number): void {
  run.meters.gpu(gpu, run.events.now);
  gpu.load = load;
  gpu.neighbours ??= neighboursOf(run, gpu);
  atLoad(gpu.neighbours, gpu.lucks, load, gpu);
  for (const index of gpu.jobs) pace(run, jobOf(run, index));
}

function neighboursOf(run: Run, gpu: GpuState): Neighbours {
  const { plan, scheduler, truth } = run;
  const online = plan.services[gpu.service]?.workload;
  const jobs = gpu.jobs.map((index) => jobOf(run, index));
  gpu.usedMemoryGB = jobs.reduce(
    (sum, { job }) => sum + job.workload.memoryGB,
    online?.memoryGB ?? 0,
  );
  gpu.lucks = jobs.map(({ luck }) => luck);
  const tenants = jobs.map(
    ({ job, share, readyAt }): Tenant => ({
      workload: job.workload,
      share: online ? share : 1,
      working: run.events.now >= readyAt,
    }),
  );
  const compute = () => neighboursOn(online, tenants, scheduler.mechanism, truth);
  const [tenant, second] = tenants;
  return tenant && !second ? run.pairs.get(gpu.service, tenant, compute) : compute();
}

/**
 * Sets a job's speed to that of its slowest GPU. If the job does not end in this step, the next step computes its end
 * again.
 */
function pace(run: Run, job: JobState): void {
  const { now } = run.events;
  advance(job, now);
  let retained = Number.POSITIVE_INFINITY;
  let rate = Number.POSITIVE_INFINITY;
  for (const seat of job.seats) {
    const gpu = gpuOf(run, seat);
    const here = gpu.retained[gpu.jobs.indexOf(job.index)] ?? 0;
    retained = Math.min(retained, here);
    rate = Math.min(rate, here * gpu.speed);
  }
  job.retained = retained;
  job.rate = rate;
  // Invalidates an end that was predicted at another speed.
  job.version++;
  if (rate <= 0) return;
  const endsAt = now + Math.max(0, job.job.seconds - job.done) / rate;
  if (endsAt <= run.nextStep)
    add(run, endsAt, { kind: "end", job: job.index, version: job.version });
}

export function advance(job: JobState, now: number): void {
  const seconds = now - job.since;
  job.since = now;
  if (seconds <= 0 || job.phase !== "running") return;
  job.held += seconds;
  job.done = Math.min(job.job.seconds, job.done + job.rate * seconds);
  job.worth += job.retained * seconds;
  if (job.rate > 0) {
    job.measured += job.retained * seconds;
    job.measuredSeconds += seconds;
  }
}
