// Every metric, once: name, unit, meaning, and how it follows from a Status. /metrics is this table in
// Prometheus' text form: names get "cotenant_" in front, and what ends in _total is a counter.
import { Counter, Gauge, Registry } from "prom-client";
import { objectiveStates } from "#policy";
import type { AgentStatus, BestEffortStatus, GpuStatus, HighStatus, Status } from "./status.ts";

/** A value that is not known is left out. */
type Row<Of> = readonly [unit: string, doc: string, value: (of: Of) => number | undefined];
type Table<Of> = Readonly<Record<string, Row<Of>>>;

const ofAgent: Table<AgentStatus> = {
  agent_cpu_share: ["ratio", "CPU time of the agent, of one core", (a) => a.cpuShare],
  agent_resident_bytes: ["bytes", "memory of the agent", (a) => a.residentBytes],
  agent_up_seconds: ["seconds", "since the agent started", (a) => a.upSeconds],
  mps_restarts_total: ["restarts", "times the MPS daemon had died", (a) => a.mpsRestarts],
};

const ofGpu: Table<GpuStatus> = {
  gpu_utilisation: ["ratio", "part of a second with a kernel", (g) => g.reading?.utilisation],
  gpu_sm_clock_hertz: ["hertz", "SM clock", (g) => hertz(g.reading?.smClockMHz)],
  gpu_power_watts: ["watts", "power drawn", (g) => g.reading?.powerW],
  gpu_memory_used_bytes: ["bytes", "memory in use by anybody", (g) => g.reading?.memoryUsed],
  gpu_memory_total_bytes: ["bytes", "memory of the GPU", (g) => g.reading?.memoryTotal],
  strangers: ["processes", "on the GPU without a slot: not gated", (g) => g.strangers.length],
  chunk_seconds: ["seconds", "launch-ahead allowed", (g) => seconds(g.served?.rules.chunkUs)],
};

const ofClient: Table<HighStatus | BestEffortStatus> = {
  launches_total: [
    "launches",
    "kernels and graphs submitted",
    (c) => ("graphs" in c ? c.launches + c.graphs : c.launches),
  ],
  unhooked: [
    "calls",
    "of driver functions that are not gated though they may submit work",
    (c) => c.unhooked,
  ],
};

/** Shares and quantiles are of the last window. */
const ofHigh: Table<HighStatus> = {
  bursts_total: ["bursts", "bursts ended", (c) => c.bursts],
  burst_p50_seconds: ["seconds", "median burst", (c) => seconds(c.burstP50Us)],
  burst_p99_seconds: ["seconds", "99th percentile of bursts", (c) => seconds(c.burstP99Us)],
  burst_wait_p50_seconds: [
    "seconds",
    "time that bursts waited for the GPU, median",
    (c) => seconds(c.burstWaitP50Us),
  ],
  burst_wait_p99_seconds: [
    "seconds",
    "time that bursts waited for the GPU, 99th percentile",
    (c) => seconds(c.burstWaitP99Us),
  ],
  busy_seconds_total: ["seconds", "time in bursts", (c) => c.busySeconds],
  active_share: ["ratio", "part of the time in which a burst ran", (c) => c.activeShare],
  ahead_mean_seconds: ["seconds", "launch-ahead bursts met", (c) => seconds(c.aheadMeanUs)],
  ahead_max_seconds: ["seconds", "the largest launch-ahead met", (c) => seconds(c.aheadMaxUs)],
  timeouts_total: ["bursts", "bursts whose end nothing showed", (c) => c.timeouts],
  implausible_looks_total: ["looks", "at counters that can't be true", (c) => c.implausible],
  objective_state: [
    "state",
    `the objective: ${objectiveStates.map((state, i) => `${i} ${state}`).join(", ")}`,
    ({ objective }) => objective && objectiveStates.indexOf(objective.state),
  ],
  objective_level: ["level", "what best-effort work may do; 0: strict", (c) => c.objective?.level],
};

const ofBestEffort: Table<BestEffortStatus> = {
  finished_seconds_total: ["seconds", "GPU time finished", (c) => c.finishedSeconds],
  held_seconds_total: ["seconds", "work waited for high clients", (c) => c.heldSeconds],
  capped_seconds_total: ["seconds", "threads waited, submission full", (c) => c.cappedSeconds],
  turn_seconds_total: ["seconds", "work waited for another's turn", (c) => c.turnSeconds],
  empty_seconds_total: ["seconds", "free to run, nothing queued", (c) => c.emptySeconds],
  trickles_total: ["pauses", "pauses broken by the trickle", (c) => c.trickles],
  variants_total: [
    "kernels",
    "long kernels that got a variant which can stop inside",
    (c) => c.preemptible.variants,
  ],
  preemptible_launches_total: ["launches", "in such a variant", (c) => c.preemptible.launches],
  graph_gates_total: ["places", "where CUDA graphs can stop inside", (c) => c.graphGates.places],
  whole_graphs_total: ["graphs", "that can't stop inside", (c) => c.graphGates.wholeGraphs],
  split_products_total: ["products", "given to cuBLAS in parts", (c) => c.splitProducts],
  memory_used_bytes: ["bytes", "memory allocated", (c) => c.memoryUsed],
  memory_quota_bytes: ["bytes", "memory allowed", (c) => c.memoryQuota || undefined],
  memory_refusals_total: ["allocations", "refused over the quota", (c) => c.memoryRefusals],
};

export interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly doc: string;
  samples(status: Status): readonly Sample[];
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [value: number | undefined, labels: Labels];

/** To be joined with the others by its labels gpu, class, pid and slot. */
const info: Metric = {
  name: "cotenant_client_info",
  unit: "constant",
  doc: "1; the labels say who the client is",
  samples: ({ gpus }) =>
    gpus.flatMap((gpu) =>
      [...gpu.high, ...gpu.bestEffort].map(({ identity, grant = "", ...client }) => [
        1,
        {
          gpu: gpu.uuid,
          class: client.class,
          name: client.name,
          pid: String(client.pid),
          slot: String(client.slot),
          grant,
          uid: String(identity?.uid ?? ""),
          container: identity?.container ?? "",
          pod: identity?.pod ?? "",
          unit: identity?.unit ?? "",
          slurm_job: identity?.slurmJob ?? "",
        },
      ]),
    ),
};

export const metrics: readonly Metric[] = [
  ...rows(ofAgent, ({ agent }) => [[agent, {}]]),
  ...rows(ofGpu, ({ gpus }) => gpus.map((gpu) => [gpu, { gpu: gpu.uuid }])),
  ...rows(
    ofClient,
    perClient((gpu) => [...gpu.high, ...gpu.bestEffort]),
  ),
  info,
  ...rows(
    ofHigh,
    perClient(({ high }) => high),
  ),
  ...rows(
    ofBestEffort,
    perClient(({ bestEffort }) => bestEffort),
  ),
];

/** All of them. A registry per call: a status has every value whole. */
export async function renderMetrics(
  status: Status,
): Promise<{ readonly text: string; readonly contentType: string }> {
  const registry = new Registry();
  for (const { name, unit, doc, samples } of metrics) {
    const found = samples(status);
    const labelNames = Object.keys(found[0]?.[1] ?? {});
    const shape = { name, help: `${doc} (${unit})`, labelNames, registers: [registry] };
    const metric = name.endsWith("_total") ? new Counter(shape) : new Gauge(shape);
    for (const [value, labels] of found) if (value !== undefined) metric.inc(labels, value);
  }
  return { text: await registry.metrics(), contentType: registry.contentType };
}

function rows<Of>(
  table: Table<Of>,
  find: (status: Status) => readonly (readonly [Of, Labels])[],
): readonly Metric[] {
  return Object.entries(table).map(([name, [unit, doc, value]]) => ({
    name: `cotenant_${name}`,
    unit,
    doc,
    samples: (status) => find(status).map(([of, labels]) => [value(of), labels]),
  }));
}

function perClient<C extends HighStatus | BestEffortStatus>(on: (gpu: GpuStatus) => readonly C[]) {
  return ({ gpus }: Status) =>
    gpus.flatMap((gpu) =>
      on(gpu).map((client): readonly [C, Labels] => {
        const { class: kind, name, pid, slot } = client;
        return [client, { gpu: gpu.uuid, class: kind, name, pid: String(pid), slot: String(slot) }];
      }),
    );
}

const seconds = (us: number | undefined) => (us === undefined ? undefined : us / 1e6);

const hertz = (megahertz: number | undefined) =>
  megahertz === undefined ? undefined : megahertz * 1e6;
