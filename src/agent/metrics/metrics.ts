// /metrics is this table in Prometheus' text form, and docs/guide/reference/monitoring.md shows it.
// A name that ends in _total is a counter.
import { packageVersion } from "#core";
import { healthStates, readingNames } from "#health";
import { objectiveStates } from "#policy";
import { caveats } from "#protocol";
import type { HealthStatus } from "../health/index.ts";
import type { DurationHistogram } from "../histograms/durations.ts";
import type { RequestMeasure } from "../meters/request-meter.ts";
import type { AgentStatus, BestEffortStatus, GpuStatus, HighStatus } from "../status/status.ts";
import type { StepMeasure } from "../steps/step-meter.ts";
import { jobMetrics } from "./job-metrics.ts";
import {
  constant,
  type Labels,
  type Metric,
  numbers,
  oneOf,
  type Row,
  rows,
  type Sample,
  type Scope,
} from "./metric.ts";
import { p99Rows, reportedRows, requestObjectives } from "./objective-metrics.ts";

type Client = HighStatus | BestEffortStatus;

const agent: Scope<AgentStatus> = {
  labels: [],
  find: (status) => [[status.agent, {}]],
};

const gpus: Scope<GpuStatus> = {
  labels: ["gpu"],
  find: (status) => status.gpus.map((gpu) => [gpu, { gpu: gpu.uuid }]),
};

const clients = <C extends Client>(on: (gpu: GpuStatus) => readonly C[]): Scope<C> => ({
  labels: ["gpu", "class", "name", "pid", "slot"],
  find: (status) =>
    status.gpus.flatMap((gpu) =>
      on(gpu).map((client): readonly [C, Labels] => {
        const { class: kind, name, pid, slot } = client;
        return [client, { gpu: gpu.uuid, class: kind, name, pid: String(pid), slot: String(slot) }];
      }),
    ),
});

const all = clients<Client>(({ high, bestEffort }) => [...high, ...bestEffort]);
const judged: Scope<HealthStatus> = {
  labels: gpus.labels,
  find: (status) =>
    gpus.find(status).flatMap(([{ health }, labels]) => (health ? [[health, labels]] : [])),
};
const high = clients(({ high }) => high);
const partOf = <Of>(part: (client: HighStatus) => Of | undefined): Scope<Of> => ({
  labels: high.labels,
  find: (status) =>
    high.find(status).flatMap(([client, labels]): [Of, Labels][] => {
      const found = part(client);
      return found === undefined ? [] : [[found, labels]];
    }),
});
const bestEffort = clients(({ bestEffort }) => bestEffort);

const ofAgent: Readonly<Record<string, Row<AgentStatus>>> = {
  agent_cpu_seconds_total: ["seconds", "CPU time of the agent", (a) => a.cpuShare * a.upSeconds],
  agent_resident_memory_bytes: ["bytes", "memory of the agent", (a) => a.residentBytes],
  agent_up_seconds: ["seconds", "time since the agent started", (a) => a.upSeconds],
  mps_restarts_total: ["restarts", "times the MPS daemon had died", (a) => a.mpsRestarts],
};

const ofGpu: Readonly<Record<string, Row<GpuStatus>>> = {
  gpu_utilisation_ratio: [
    "ratio",
    "part of the last second in which a kernel ran",
    (g) => g.reading?.utilisation,
  ],
  gpu_sm_clock_hertz: ["hertz", "SM clock", (g) => hertz(g.reading?.smClockMHz)],
  gpu_power_watts: ["watts", "power drawn", (g) => g.reading?.powerW],
  gpu_memory_used_bytes: ["bytes", "memory in use by anybody", (g) => g.reading?.memoryUsed],
  gpu_memory_size_bytes: ["bytes", "memory of the GPU", (g) => g.reading?.memoryTotal],
  served: ["0 or 1", "1: it has clients", (g) => (g.served ? 1 : 0)],
  high_activity_forecast_ratio: [
    "ratio",
    "the largest active share of high clients that is expected within a quarter of an hour",
    (g) => g.smShare?.forecast,
  ],
  best_effort_sm_share_ratio: [
    "ratio",
    "part of the SMs that this leaves; the policy muxflow keeps to it beside requests",
    (g) => g.smShare?.share,
  ],
  best_effort_share_bound_ratio: [
    "ratio",
    "part of the GPU that best-effort work gets during requests at most, as somebody such as a cluster's manager says",
    (g) => g.shareBound?.share,
  ],
  strangers: ["processes", "on the GPU without a slot: not gated", (g) => g.strangers.length],
  chunk_seconds: ["seconds", "queued-ahead work allowed", (g) => seconds(g.served?.rules.chunkUs)],
  paused: ["0 or 1", "1: best-effort work is paused by the policy", (g) => g.served?.rules.paused],
};

const ofHealth: Readonly<Record<string, Row<HealthStatus>>> = {
  gpu_overlimit_entries: [
    "entries",
    "how often the GPU became Overlimit in the last two hours",
    (h) => h.entries,
  ],
};

const ofClient: Readonly<Record<string, Row<Client>>> = {
  client_memory_bytes: [
    "bytes",
    "GPU memory of the process, as the driver says it; left out where it does not say it",
    (c) => c.gpuMemory,
  ],
  launches_total: [
    "launches",
    "kernels and graphs submitted",
    (c) => ("graphs" in c ? c.launches + c.graphs : c.launches),
  ],
  unhooked_calls_total: [
    "calls",
    "calls of driver functions that are not gated though they may submit work",
    (c) => c.unhooked,
  ],
};

/** Gauges of shares and quantiles are of the last window, 4 seconds. */
const ofHigh: Readonly<Record<string, Row<HighStatus>>> = {
  burst_p50_seconds: ["seconds", "median burst of the last 4 s", (c) => seconds(c.burstP50Us)],
  burst_p99_seconds: [
    "seconds",
    "99th percentile of the bursts of the last 4 s",
    (c) => seconds(c.burstP99Us),
  ],
  burst_wait_p50_seconds: [
    "seconds",
    "median of the time that bursts of the last 4 s waited for the GPU",
    (c) => seconds(c.burstWaitP50Us),
  ],
  burst_wait_p99_seconds: [
    "seconds",
    "99th percentile of the time that bursts of the last 4 s waited for the GPU",
    (c) => seconds(c.burstWaitP99Us),
  ],
  active_ratio: ["ratio", "part of the last 4 s in which a burst ran", (c) => c.activeShare],
  shared_ratio: [
    "ratio",
    "part of the last 4 s in which a burst ran that took turns with best-effort work",
    (c) => c.sharedShare,
  ],
  starting: [
    "0 or 1",
    "1: it starts up, and shares the GPU until it serves",
    (c) => (c.starting ? 1 : 0),
  ],
  ahead_mean_seconds: [
    "seconds",
    "mean queued-ahead work that bursts of the last 4 s met",
    (c) => seconds(c.aheadMeanUs),
  ],
  ahead_max_seconds: [
    "seconds",
    "largest queued-ahead work that bursts of the last 4 s met",
    (c) => seconds(c.aheadMaxUs),
  ],
  timeouts_total: [
    "bursts",
    "bursts, or single streams, given up because nothing showed their end",
    (c) => c.timeouts,
  ],
  implausible_looks_total: ["looks", "at counters that can't be true", (c) => c.implausible],
  objective_p99_seconds: [
    "seconds",
    "the objective: 99th percentile of bursts",
    (c) => seconds(c.sloP99Us),
  ],
  ...p99Rows,
  objective_slowdown_ratio: ["ratio", "the objective: allowed slowdown", (c) => c.sloSlowdown],
  asleep_bytes: ["bytes", "memory parked because it is idle", (c) => c.memory?.parkedBytes],
  wakes_total: ["times", "parked memory came back for a request", (c) => c.memory?.woken],
  first_answer_seconds: [
    "seconds",
    "the last request that waited for parked memory, from its first call to its end",
    (c) => c.memory?.firstAnswerMs && c.memory.firstAnswerMs / 1000,
  ],
  objective_level: ["level", "what best-effort work may do; 0: strict", (c) => c.objective?.level],
};

const ofTold: Readonly<Record<string, Row<RequestMeasure>>> = {
  requests_open: ["requests", "that the program has begun and not ended", (r) => r.open],
  requests_failed_total: ["requests", "that it ended as failed", (r) => r.failed],
  requests_forgotten_total: [
    "requests",
    "that it began and never ended, so that another one needed the place",
    (r) => r.forgotten,
  ],
};

const ofSteps: Readonly<Record<string, Row<StepMeasure>>> = {
  steps_per_second: ["steps a second", "steps of the last 4 s", (s) => s.stepsPerS],
  step_gap_ratio: [
    "ratio",
    "part of the time of steps of the last 4 s that is between their bursts",
    (s) => s.gapShare,
  ],
  step_wait_ratio: [
    "ratio",
    "part of the time of steps of the last 4 s in which a thread waited for the GPU",
    (s) => s.waitShare,
  ],
};

const histograms: Readonly<Record<string, Row<HighStatus, DurationHistogram>>> = {
  burst_duration_seconds: [
    "seconds",
    "bursts that ended, by their length",
    (c) => c.burstHistogram,
  ],
  burst_wait_seconds: [
    "seconds",
    "the same bursts, by the time that they waited for the GPU",
    (c) => c.burstWaitHistogram,
  ],
  step_duration_seconds: [
    "seconds",
    "steps, where bursts make any: from the start of the first burst of each to the end of its last one",
    (c) => c.stepHistograms?.durations,
  ],
  step_wait_seconds: [
    "seconds",
    "the same steps, by the time that they waited for the GPU",
    (c) => c.stepHistograms?.waits,
  ],
  ...reportedRows,
};

const ofBestEffort: Readonly<Record<string, Row<BestEffortStatus>>> = {
  used_ratio: [
    "ratio",
    "part of the last second in which its kernels ran, as the driver samples it",
    (c) => c.hold?.usedShare,
  ],
  open_ratio: [
    "ratio",
    "part of it in which no high client held the GPU",
    (c) => c.hold?.openShare,
  ],
  hold_trials_total: ["pauses", "made to see whether it heeds its hold", (c) => c.hold?.trials],
  hold_ignored_total: ["pauses", "of these in which its kernels ran on", (c) => c.hold?.ignored],
  finished_seconds_total: ["seconds", "GPU time finished", (c) => c.finishedSeconds],
  held_seconds_total: ["seconds", "time work waited for high clients", (c) => c.heldSeconds],
  capped_seconds_total: [
    "seconds",
    "time threads waited because too much was submitted",
    (c) => c.cappedSeconds,
  ],
  turn_seconds_total: ["seconds", "time work waited for another's turn", (c) => c.turnSeconds],
  empty_seconds_total: ["seconds", "time free to run with nothing queued", (c) => c.emptySeconds],
  trickles_total: ["pauses", "pauses broken by minimum progress", (c) => c.trickles],
  variants_total: [
    "kernels",
    "long kernels that got a variant which can stop inside",
    (c) => c.preemptible.variants,
  ],
  preemptible_launches_total: [
    "launches",
    "launches in such a variant",
    (c) => c.preemptible.launches,
  ],
  graph_gates_total: ["places", "places where CUDA graphs can stop", (c) => c.graphGates.places],
  whole_graphs_total: [
    "graphs",
    "CUDA graphs that can't stop inside",
    (c) => c.graphGates.wholeGraphs,
  ],
  split_products_total: ["products", "products given to cuBLAS in parts", (c) => c.splitProducts],
  commits_total: [
    "operations",
    "NCCL operations of a rank that were committed",
    (c) => c.gang?.commits,
  ],
  commit_timeouts_total: [
    "operations",
    "of these, whose wait for other ranks timed out",
    (c) => c.gang?.timeouts,
  ],
  memory_used_bytes: ["bytes", "memory allocated", (c) => c.memoryUsed],
  memory_quota_bytes: ["bytes", "memory allowed", (c) => c.memoryQuota || undefined],
  movable_bytes: ["bytes", "memory that can be parked, or is", (c) => c.memory?.bytes],
  parked_bytes: ["bytes", "the part of it that is in host memory", (c) => c.memory?.parkedBytes],
  memory_refusals_total: [
    "allocations",
    "allocations refused over the quota",
    (c) => c.memoryRefusals,
  ],
};

const constants: readonly Metric[] = [
  constant("build_info", "1; the label says the version of Cotenant", ["version"], () => [
    { version: packageVersion() },
  ]),
  constant(
    "agent_info",
    "1; the labels say how the agent runs",
    ["mode", "policy", "scope"],
    ({ agent: { mode, policy, scope } }) => [{ mode, policy, scope }],
  ),
];

/** Queries join it with other metrics by the labels of a client. */
const clientInfo = constant(
  "client_info",
  "1; the labels say who the client is",
  [...all.labels, "job_id", "grant", "uid", "container", "pod", "unit", "slurm_job"],
  (status) =>
    all.find(status).map(([{ job, identity, grant = "" }, labels]) => ({
      ...labels,
      job_id: job,
      grant,
      uid: String(identity?.uid ?? ""),
      container: identity?.container ?? "",
      pod: identity?.pod ?? "",
      unit: identity?.unit ?? "",
      slurm_job: identity?.slurmJob ?? "",
    })),
);

/** Alert rules use these names, so they do not follow the code. */
const caveatNames = {
  several_ranks: caveats.ranks,
  several_gpus: caveats.gpus,
  past_cotenant: caveats.pastUs,
  too_many: caveats.tooMany,
};

const clientCaveat = oneOf(
  "client_caveat",
  "1: the client is not wholly protected, or not wholly held back, for this reason",
  all,
  "caveat",
  Object.keys(caveatNames) as (keyof typeof caveatNames)[],
  (client, name) => (client.caveats & caveatNames[name]) !== 0,
);

const objectiveState = oneOf(
  "objective_state",
  "1: the state of the objective",
  {
    labels: high.labels,
    find: (status) => high.find(status).filter(([{ objective }]) => objective),
  },
  "state",
  objectiveStates,
  ({ objective }, state) => objective?.state === state,
);

const gpuHealth = oneOf(
  "gpu_health",
  "1: the state of the GPU, as SysMonitor judges it",
  judged,
  "state",
  healthStates,
  ({ state }, wanted) => state === wanted,
);

/** A GPU without a reading has no series for it. */
const gpuHealthReading: Metric = {
  name: "cotenant_gpu_health_reading",
  type: "gauge",
  unit: "its own",
  doc: "the readings that the health is judged by; what each is: docs/guide/protection.md",
  labels: [...gpus.labels, "reading"],
  samples: (status) =>
    judged
      .find(status)
      .flatMap(([{ readings }, labels]) =>
        readingNames.map((name): Sample<number> => [readings[name], { ...labels, reading: name }]),
      ),
};

export const metrics: readonly Metric[] = [
  ...constants,
  ...numbers(agent, ofAgent),
  ...numbers(gpus, ofGpu),
  gpuHealth,
  ...numbers(judged, ofHealth),
  gpuHealthReading,
  clientInfo,
  clientCaveat,
  ...jobMetrics,
  ...numbers(all, ofClient),
  ...rows(high, histograms).map((row) => ({ ...row, type: "histogram" as const })),
  ...numbers(high, ofHigh),
  requestObjectives(high),
  ...numbers(
    partOf(({ steps }) => steps),
    ofSteps,
  ),
  ...numbers(
    partOf(({ told }) => told),
    ofTold,
  ),
  objectiveState,
  ...numbers(bestEffort, ofBestEffort),
];

const seconds = (us: number | undefined) => (us === undefined ? undefined : us / 1e6);

const hertz = (megahertz: number | undefined) =>
  megahertz === undefined ? undefined : megahertz * 1e6;
