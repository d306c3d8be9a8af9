// Sums up the figures of a run while it runs.
import { upperQuantileOfSorted } from "#core";
import type { Figures, LevelFigures, Point, ServiceFigures } from "../model/figures.ts";
import {
  addServed,
  backlogAfter,
  type Latencies,
  moveAll,
  noLatencies,
  quantile,
} from "../model/latency.ts";
import type { ClusterPlan } from "../model/plan.ts";
import type { QueueTable } from "../model/queue.ts";
import { TENANT, TENANTS } from "../model/sharing.ts";
import { GPU, type JobState, SHARING } from "./state.ts";

/** Seconds between two points of the curves over time. */
const SERIES_STEP = 900;

interface Bin {
  seconds: number;
  busy: number;
  activity: number;
  memory: number;
  throughput: number;
  /** Seconds for which requests kept GPUs busy longer than alone. */
  slowed: number;
  latency: number;
  latencyAlone: number;
  p99Slowdown: number;
  waiting: number;
  running: number;
  looks: number;
}

interface Counts {
  moves: number;
  evictions: number;
  failures: number;
  lost: number;
}

export interface Meters {
  readonly counts: Counts;
  /** Adds the figures of the GPU whose row begins there, from the last call until now. */
  gpu(row: number, now: number): void;
  queue(now: number, waiting: number, running: number): void;
  figures(scheduler: string, jobs: readonly JobState[], now: number): Figures;
}

/** `gpus`: the numbers of the GPUs. */
export function newMeters(
  plan: ClusterPlan,
  tables: readonly QueueTable[],
  gpus: Float64Array,
): Meters {
  const together = tables.map(noLatencies);
  const alone = tables.map(noLatencies);
  const counts: Counts = { moves: 0, evictions: 0, failures: 0, lost: 0 };
  const bins: Bin[] = [];
  const binAt = (at: number): Bin => {
    const index = Math.floor(at / SERIES_STEP);
    while (bins.length <= index) bins.push(emptyBin());
    return bins[index] as Bin;
  };
  // Latencies of the quarter of an hour that is open. Steps end all intervals, so that quarters follow each other.
  const recent = {
    together: tables.map(noLatencies),
    alone: tables.map(noLatencies),
  };
  let latest: Bin | undefined;
  const closeBin = (next: Bin | undefined) => {
    if (latest) latest.p99Slowdown = p99SlowdownOf(recent.together, recent.alone);
    latest = next;
    plan.services.forEach((_, i) => {
      moveAll(recent.together[i] as Latencies, together[i] as Latencies);
      moveAll(recent.alone[i] as Latencies, alone[i] as Latencies);
    });
  };
  return {
    counts,
    gpu(row, now) {
      const at = gpus[row + GPU.since] as number;
      const seconds = now - at;
      if (seconds <= 0) return;
      gpus[row + GPU.since] = now;
      const bin = binAt(at);
      const load = gpus[row + GPU.load] as number;
      const slowdown = gpus[row + GPU.slowdown] as number;
      bin.seconds += seconds;
      bin.busy += (gpus[row + GPU.busy] as number) * seconds;
      bin.activity += (gpus[row + GPU.activity] as number) * seconds;
      bin.memory +=
        ((gpus[row + GPU.usedMemoryGB] as number) / (gpus[row + GPU.memoryGB] as number)) * seconds;
      const end = SHARING + TENANTS + (gpus[row + GPU.tenants] as number) * TENANT.width;
      for (let tenant = SHARING + TENANTS; tenant < end; tenant += TENANT.width)
        bin.throughput += (gpus[row + tenant + TENANT.retained] as number) * seconds;
      bin.slowed += load * (slowdown - 1) * seconds;
      const service = gpus[row + GPU.service] as number;
      if (service < 0 || at >= plan.horizon) return;
      if (bin !== latest) closeBin(bin);
      const own = gpus[row + GPU.requestSeconds] as number;
      const requests = (load / own) * seconds;
      const shared = recent.together[service] as Latencies;
      const solo = recent.alone[service] as Latencies;
      const [sharedBefore, soloBefore] = [shared.total, solo.total];
      const backlog = gpus[row + GPU.backlog] as number;
      const backlogAlone = gpus[row + GPU.backlogAlone] as number;
      addServed(shared, { requests, service: own * slowdown, load: load * slowdown, backlog });
      addServed(solo, { requests, service: own, load, backlog: backlogAlone });
      bin.latency += shared.total - sharedBefore;
      bin.latencyAlone += solo.total - soloBefore;
      gpus[row + GPU.backlog] = backlogAfter(backlog, load * slowdown, seconds);
      gpus[row + GPU.backlogAlone] = backlogAfter(backlogAlone, load, seconds);
    },
    queue(now, waiting, running) {
      const bin = binAt(now);
      bin.waiting += waiting;
      bin.running += running;
      bin.looks++;
    },
    figures(scheduler, jobs, now) {
      closeBin(undefined);
      return {
        scheduler,
        seed: plan.seed,
        ...onlineFigures(plan, together, alone),
        ...jobFigures(jobs, now),
        ...gpuFigures(plan, bins),
        ...savedFigures(plan, bins, counts),
        ...counts,
        series: bins.map((bin, i) => point(bin, i, plan)),
      };
    },
  };
}

function onlineFigures(
  plan: ClusterPlan,
  together: readonly Latencies[],
  alone: readonly Latencies[],
) {
  const services = plan.services.map(({ workload }, i): ServiceFigures => {
    const [shared, solo] = [together[i] as Latencies, alone[i] as Latencies];
    const p99 = quantile(shared, 0.99) ?? 0;
    return {
      name: workload.name,
      meanMs: (1000 * shared.total) / Math.max(1, shared.requests),
      p99Ms: 1000 * p99,
      meanSlowdown: solo.total > 0 ? shared.total / solo.total : 1,
      p99Slowdown: p99 > 0 ? p99 / (quantile(solo, 0.99) ?? p99) : 1,
    };
  });
  const total = (of: (latencies: Latencies) => number) =>
    together.reduce((sum, one) => sum + of(one), 0);
  const requests = total((one) => one.requests);
  const weighted = (of: (figures: ServiceFigures) => number): number =>
    requests > 0
      ? services.reduce((sum, one, i) => sum + of(one) * (together[i]?.requests ?? 0), 0) / requests
      : 1;
  return {
    services,
    meanSlowdown: weighted((one) => one.meanSlowdown),
    p99Slowdown: weighted((one) => one.p99Slowdown),
    turnedAway: requests > 0 ? total((one) => one.turnedAway) / requests : 0,
  };
}

function jobFigures(jobs: readonly JobState[], now: number) {
  const ended = jobs.filter(({ phase }) => phase === "done");
  const sum = (of: (state: JobState) => number): number =>
    jobs.reduce((total, one) => total + of(one), 0);
  const endOf = (one: JobState) => (Number.isNaN(one.finished) ? now : one.finished);
  const jctOf = (one: JobState) => endOf(one) - one.job.submitted;
  const held = sum((one) => one.held);
  const jcts = jobs.map(jctOf).sort((a, b) => a - b);
  return {
    jobs: jobs.length,
    finished: ended.length,
    jctMean: jcts.reduce((total, one) => total + one, 0) / Math.max(1, jcts.length),
    jctMedian: jcts.length > 0 ? upperQuantileOfSorted(jcts, 0.5) : 0,
    jctP95: jcts.length > 0 ? upperQuantileOfSorted(jcts, 0.95) : 0,
    makespan:
      ended.length === jobs.length
        ? ended.reduce((last, { finished }) => Math.max(last, finished), 0)
        : now,
    waitingMean: sum((one) => jctOf(one) - one.held) / Math.max(1, jobs.length),
    byPriority: [...new Set(jobs.map(({ job }) => job.priority))]
      .sort((a, b) => b - a)
      .map((priority): LevelFigures => {
        const own = jobs.filter(({ job }) => job.priority === priority);
        const meanOf = (of: (state: JobState) => number) =>
          own.reduce((total, one) => total + of(one), 0) / own.length;
        return {
          priority,
          jobs: own.length,
          jctMean: meanOf(jctOf),
          waitingMean: meanOf((one) => jctOf(one) - one.held),
        };
      }),
    oversold: held > 0 ? sum((one) => one.worth) / held : 0,
    starts: sum((one) => one.starts),
    jcts,
  };
}

/** p99 together / alone of each service, averaged with requests as weights; 1 without requests. */
function p99SlowdownOf(together: readonly Latencies[], alone: readonly Latencies[]): number {
  let [sum, requests] = [0, 0];
  together.forEach((shared, i) => {
    const [slow, solo] = [quantile(shared, 0.99), quantile(alone[i] as Latencies, 0.99)];
    if (slow === undefined || solo === undefined) return;
    sum += (slow / solo) * shared.requests;
    requests += shared.requests;
  });
  return requests > 0 ? sum / requests : 1;
}

const dayOf = (plan: ClusterPlan, bins: readonly Bin[]): readonly Bin[] =>
  bins.slice(0, Math.ceil(plan.horizon / SERIES_STEP));

function savedFigures(plan: ClusterPlan, bins: readonly Bin[], { lost }: Counts) {
  const { costs } = plan;
  const worked = dayOf(plan, bins).reduce((sum, bin) => sum + bin.throughput - bin.slowed, 0);
  const savedGpuHours = (worked - lost) / 3600;
  return { savedGpuHours, savedDollars: savedGpuHours * costs.dollarsPerGpuHour };
}

function gpuFigures(plan: ClusterPlan, bins: readonly Bin[]) {
  const seen = dayOf(plan, bins);
  const seconds = Math.max(
    1,
    seen.reduce((sum, bin) => sum + bin.seconds, 0),
  );
  const mean = (of: (bin: Bin) => number): number =>
    seen.reduce((sum, bin) => sum + of(bin), 0) / seconds;
  return {
    busy: mean((bin) => bin.busy),
    activity: mean((bin) => bin.activity),
    memory: mean((bin) => bin.memory),
  };
}

const emptyBin = (): Bin => ({
  seconds: 0,
  busy: 0,
  activity: 0,
  memory: 0,
  throughput: 0,
  slowed: 0,
  latency: 0,
  latencyAlone: 0,
  p99Slowdown: 1,
  waiting: 0,
  running: 0,
  looks: 0,
});

function point(bin: Bin, index: number, plan: ClusterPlan): Point {
  const seconds = Math.max(1, bin.seconds);
  const looks = Math.max(1, bin.looks);
  const gpus = plan.gpus.reduce((sum, { count }) => sum + count, 0);
  return {
    hour: (index * SERIES_STEP) / 3600,
    waiting: bin.waiting / looks,
    running: bin.running / looks,
    throughput: (bin.throughput / seconds) * gpus,
    busy: bin.busy / seconds,
    activity: bin.activity / seconds,
    memory: bin.memory / seconds,
    slowdown: bin.latencyAlone > 0 ? bin.latency / bin.latencyAlone : 1,
    p99Slowdown: bin.p99Slowdown,
  };
}
