// Events of jobs and GPUs: a job starts, stops, ends or loses work, a GPU fails, speeds are computed again.

import {
  atLoad,
  type Neighbours,
  neighboursOn,
  TENANT,
  TENANTS,
  type Tenant,
} from "../model/sharing.ts";
import type { Order } from "../schedulers/scheduler.ts";
import { lose } from "./monitor.ts";
import { add, gpuOf, jobOf, type Run, runningJobs } from "./run.ts";
import { GPU, type GpuState, JOB, type JobState, SHARING } from "./state.ts";

/** The SMs that both sides of a GPU need together, as the meters show. */
export function demandOf(run: Run, gpu: number): number {
  const { scene, plan } = run;
  const { numbers, width, neighbours } = run.gpus;
  const row = gpu * width;
  const queued =
    (numbers[row + GPU.onlineActivity] as number) * (numbers[row + GPU.slowdown] as number);
  const wanted = neighbours[gpu]?.wanted ?? 0;
  return (queued + wanted) * (1 + plan.noise.meter * scene.meters.normal());
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
        reshare(run, job.index, order.share);
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
  advance(run, job);
  run.waiting.remove(job);
  run.running++;
  job.phase = "running";
  run.scene.views[job.index] = undefined;
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
  advance(run, job);
  const seats = job.seats;
  job.phase = "waiting";
  run.scene.views[job.index] = undefined;
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
  advance(run, job);
  const sinceCheckpoint = Math.max(0, run.events.now - job.readyAt) % run.plan.costs.checkpoint;
  const kept = Math.max(job.doneAtStart, job.done - sinceCheckpoint * job.rate);
  run.meters.counts.lost += job.done - kept;
  job.done = kept;
  run.scene.views[job.index] = undefined;
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

/** `index`: the job's. */
export function reshare(run: Run, index: number, share: number): void {
  const { numbers, width } = run.jobs;
  if (Math.abs(share - (numbers[index * width + JOB.share] as number)) < 1e-9) return;
  const job = jobOf(run, index);
  job.share = share;
  refreshSeats(run, job.seats);
}

/** After a job came to these GPUs, left them, began to work or got another share. */
export function refreshSeats(run: Run, seats: readonly number[]): void {
  for (const seat of seats) {
    run.gpus.neighbours[seat] = undefined;
    refresh(run, seat, gpuOf(run, seat).load);
  }
}

/** Adds up the figures so far, then computes the speeds that apply from now on. */
export function refresh(run: Run, gpu: number, load: number): void {
  const { numbers, width, neighbours } = run.gpus;
  const row = gpu * width;
  run.meters.gpu(row, run.events.now);
  numbers[row + GPU.load] = load;
  const shared = neighbours[gpu] ?? neighboursOf(run, gpuOf(run, gpu));
  neighbours[gpu] = shared;
  atLoad(shared, load, numbers, row + SHARING);
  for (let i = 0; i < shared.count; i++) {
    const tenant = row + SHARING + TENANTS + i * TENANT.width;
    const retained = numbers[tenant + TENANT.retained] as number;
    pace(run, numbers[tenant + TENANT.job] as number, retained, numbers[row + GPU.speed] as number);
  }
}

/** Writes down who a GPU's tenants are, and finds what they do to each other. */
function neighboursOf(run: Run, gpu: GpuState): Neighbours {
  const { plan, scheduler, truth } = run;
  const online = plan.services[gpu.service]?.workload;
  const jobs = gpu.jobs.map((index) => jobOf(run, index));
  gpu.usedMemoryGB = jobs.reduce(
    (sum, { job }) => sum + job.workload.memoryGB,
    online?.memoryGB ?? 0,
  );
  if (tenantAt(run, gpu.index, jobs.length) > tenantAt(run, gpu.index + 1, 0) - SHARING - TENANTS)
    throw new Error(
      `GPU ${gpu.index} got ${jobs.length} jobs, more than the scheduler's jobsPerGpu`,
    );
  gpu.tenants = jobs.length;
  jobs.forEach(({ index, luck }, i) => {
    const tenant = tenantAt(run, gpu.index, i);
    run.gpus.numbers[tenant + TENANT.job] = index;
    run.gpus.numbers[tenant + TENANT.luck] = luck;
  });
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

/** The job that is a GPU's tenant of that number. */
export const tenantOf = (run: Run, gpu: number, tenant: number): number =>
  run.gpus.numbers[tenantAt(run, gpu, tenant) + TENANT.job] as number;

const tenantAt = ({ gpus }: Run, gpu: number, tenant: number): number =>
  gpu * gpus.width + SHARING + TENANTS + tenant * TENANT.width;

/**
 * Sets a job's speed: what it retains on a GPU of that speed, or on its slowest one if it has several. If the job does not
 * end in this step, the next step computes its end again.
 */
function pace(run: Run, index: number, retained: number, speed: number): void {
  const { numbers, width } = run.jobs;
  const { now } = run.events;
  const row = index * width;
  work(numbers, row, now);
  let least = retained;
  let rate = retained * speed;
  if (numbers[row + JOB.width] !== 1) [least, rate] = slowestOf(run, jobOf(run, index));
  numbers[row + JOB.retained] = least;
  numbers[row + JOB.rate] = rate;
  // Invalidates an end that was predicted at another speed.
  const version = (numbers[row + JOB.version] as number) + 1;
  numbers[row + JOB.version] = version;
  if (rate <= 0) return;
  const left = (numbers[row + JOB.seconds] as number) - (numbers[row + JOB.done] as number);
  const endsAt = now + Math.max(0, left) / rate;
  if (endsAt <= run.nextStep) add(run, endsAt, { kind: "end", job: index, version });
}

/** The least that a job retains on its GPUs, and its least progress per second. */
function slowestOf(run: Run, { index, seats }: JobState): [number, number] {
  let retained = Number.POSITIVE_INFINITY;
  let rate = Number.POSITIVE_INFINITY;
  for (const seat of seats) {
    const { jobs, speed, tenants } = gpuOf(run, seat);
    const place = jobs.indexOf(index);
    const here =
      place < tenants ? (run.gpus.numbers[tenantAt(run, seat, place) + TENANT.retained] ?? 0) : 0;
    retained = Math.min(retained, here);
    rate = Math.min(rate, here * speed);
  }
  return [retained, rate];
}

/** Adds up what a job has done since its figures were last looked at. */
export function advance(run: Run, { index, phase }: JobState, now = run.events.now): void {
  const { numbers, width } = run.jobs;
  if (phase === "running") work(numbers, index * width, now);
  else numbers[index * width + JOB.since] = now;
}

/** The same of a job that runs, whose row begins there. */
function work(jobs: Float64Array, row: number, now: number): void {
  const seconds = now - (jobs[row + JOB.since] as number);
  jobs[row + JOB.since] = now;
  if (seconds <= 0) return;
  const rate = jobs[row + JOB.rate] as number;
  const worth = (jobs[row + JOB.retained] as number) * seconds;
  jobs[row + JOB.held] = (jobs[row + JOB.held] as number) + seconds;
  jobs[row + JOB.done] = Math.min(
    jobs[row + JOB.seconds] as number,
    (jobs[row + JOB.done] as number) + rate * seconds,
  );
  jobs[row + JOB.worth] = (jobs[row + JOB.worth] as number) + worth;
  if (rate > 0) {
    jobs[row + JOB.measured] = (jobs[row + JOB.measured] as number) + worth;
    jobs[row + JOB.measuredSeconds] = (jobs[row + JOB.measuredSeconds] as number) + seconds;
  }
}
