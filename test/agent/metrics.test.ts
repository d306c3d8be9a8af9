import { expect, test } from "vitest";
import { type GpuStatus, metrics, renderMetrics } from "#agent";
import { type ObjectiveState, objectiveStates } from "#policy";
import { exampleStatus } from "./example.ts";

test("the table of metrics", () => {
  const rows = metrics.map(({ name, unit }) => `${name} ${unit}`);
  expect(rows.join("\n")).toMatchInlineSnapshot(`
    "cotenant_agent_cpu_share ratio
    cotenant_agent_resident_bytes bytes
    cotenant_agent_up_seconds seconds
    cotenant_mps_restarts_total restarts
    cotenant_gpu_utilisation ratio
    cotenant_gpu_sm_clock_hertz hertz
    cotenant_gpu_power_watts watts
    cotenant_gpu_memory_used_bytes bytes
    cotenant_gpu_memory_total_bytes bytes
    cotenant_strangers processes
    cotenant_chunk_seconds seconds
    cotenant_launches_total launches
    cotenant_unhooked calls
    cotenant_client_info constant
    cotenant_bursts_total bursts
    cotenant_burst_p50_seconds seconds
    cotenant_burst_p99_seconds seconds
    cotenant_burst_wait_p50_seconds seconds
    cotenant_burst_wait_p99_seconds seconds
    cotenant_busy_seconds_total seconds
    cotenant_active_share ratio
    cotenant_ahead_mean_seconds seconds
    cotenant_ahead_max_seconds seconds
    cotenant_timeouts_total bursts
    cotenant_implausible_looks_total looks
    cotenant_objective_state state
    cotenant_objective_level level
    cotenant_finished_seconds_total seconds
    cotenant_held_seconds_total seconds
    cotenant_capped_seconds_total seconds
    cotenant_turn_seconds_total seconds
    cotenant_empty_seconds_total seconds
    cotenant_trickles_total pauses
    cotenant_variants_total kernels
    cotenant_preemptible_launches_total launches
    cotenant_graph_gates_total places
    cotenant_whole_graphs_total graphs
    cotenant_split_products_total products
    cotenant_memory_used_bytes bytes
    cotenant_memory_quota_bytes bytes
    cotenant_memory_refusals_total allocations"
  `);
});

test("every metric has a name of its own, a unit and a meaning", () => {
  expect(new Set(metrics.map(({ name }) => name)).size).toBe(metrics.length);
  for (const { name, unit, doc } of metrics) {
    expect(name).toMatch(/^cotenant_[a-z0-9_]+$/);
    expect(unit && doc).toBeTruthy();
  }
});

test("a status becomes Prometheus text, with what is unknown left out", async () => {
  const { text } = await renderMetrics(exampleStatus);
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  expect(lines.join("\n")).toMatchInlineSnapshot(`
    "cotenant_agent_cpu_share 0.005
    cotenant_agent_resident_bytes 60000000
    cotenant_agent_up_seconds 10
    cotenant_mps_restarts_total 0
    cotenant_gpu_utilisation{gpu="GPU-a"} 0.75
    cotenant_gpu_sm_clock_hertz{gpu="GPU-a"} 1980000000
    cotenant_gpu_memory_used_bytes{gpu="GPU-a"} 21474836480
    cotenant_gpu_memory_total_bytes{gpu="GPU-a"} 85899345920
    cotenant_strangers{gpu="GPU-a"} 1
    cotenant_launches_total{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 2000
    cotenant_launches_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 15
    cotenant_unhooked{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0
    cotenant_unhooked{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 0
    cotenant_client_info{gpu="GPU-a",class="high",name="serve",pid="42",slot="0",grant="an agent of one's own",uid="1000",container="",pod="",unit="",slurm_job=""} 1
    cotenant_client_info{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1",grant="",uid="",container="",pod="",unit="",slurm_job=""} 1
    cotenant_bursts_total{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 100
    cotenant_burst_p50_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.002
    cotenant_burst_p99_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.004
    cotenant_burst_wait_p50_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.0011
    cotenant_burst_wait_p99_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.0029
    cotenant_busy_seconds_total{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.25
    cotenant_active_share{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.05
    cotenant_ahead_mean_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.00006
    cotenant_ahead_max_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.00019
    cotenant_timeouts_total{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0
    cotenant_implausible_looks_total{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0
    cotenant_finished_seconds_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 7
    cotenant_held_seconds_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 1.5
    cotenant_capped_seconds_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 0.5
    cotenant_turn_seconds_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 0
    cotenant_empty_seconds_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 0.25
    cotenant_trickles_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 1
    cotenant_variants_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 1
    cotenant_preemptible_launches_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 4
    cotenant_graph_gates_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 12
    cotenant_whole_graphs_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 0
    cotenant_split_products_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 3
    cotenant_memory_used_bytes{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 1000
    cotenant_memory_refusals_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 2"
  `);
});

test("a machine without GPUs and clients still has all of the agent's metrics", async () => {
  const { text } = await renderMetrics({ ...exampleStatus, gpus: [] });
  expect(text).toContain("cotenant_agent_cpu_share 0.005");
});

/** The samples of one metric in the text of a status whose only GPU is the example's with `change`. */
async function samplesOf(metric: string, change: Partial<GpuStatus>): Promise<readonly string[]> {
  const gpus = exampleStatus.gpus.map((gpu) => ({ ...gpu, ...change }));
  const { text } = await renderMetrics({ ...exampleStatus, gpus });
  return text.split("\n").filter((line) => line.startsWith(`cotenant_${metric}{`));
}

test("of a GPU that the driver does not list there is no figure, and of its clients there are all", async () => {
  const unlisted = { reading: undefined };
  for (const name of metrics.map((metric) => metric.name.replace(/^cotenant_/, "")))
    if (name.startsWith("gpu_")) expect(await samplesOf(name, unlisted)).toEqual([]);
  expect(await samplesOf("strangers", unlisted)).toEqual(['cotenant_strangers{gpu="GPU-a"} 1']);
  expect(await samplesOf("launches_total", unlisted)).toHaveLength(2);
});

test("a clock and a power that the driver does not tell are left out, and told ones are in hertz and watts", async () => {
  const [gpu] = exampleStatus.gpus;
  if (!gpu?.reading) throw new Error("the example has a GPU");
  const of = (smClockMHz?: number, powerW?: number) => ({
    reading: { ...gpu.reading, smClockMHz, powerW } as GpuStatus["reading"],
  });
  expect(await samplesOf("gpu_sm_clock_hertz", of())).toEqual([]);
  expect(await samplesOf("gpu_power_watts", of(1980, 412.5))).toEqual([
    'cotenant_gpu_power_watts{gpu="GPU-a"} 412.5',
  ]);
});

test("an objective is shown by the number of its state, and its level", async () => {
  const high = exampleStatus.gpus.flatMap((gpu) => gpu.high);
  const held = high.map((client) => ({
    ...client,
    objective: { state: objectiveStates[2] as ObjectiveState, level: 3 },
  }));
  expect(await samplesOf("objective_state", { high: held })).toEqual([
    expect.stringMatching(/ 2$/),
  ]);
  expect(await samplesOf("objective_level", { high: held })).toEqual([
    expect.stringMatching(/ 3$/),
  ]);
  expect(await samplesOf("objective_state", { high })).toEqual([]);
});

test("what only grows is a counter for Prometheus, and nothing else is", async () => {
  const { text } = await renderMetrics(exampleStatus);
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]),
  );
  expect([types.get("cotenant_bursts_total"), types.get("cotenant_active_share")]).toEqual([
    "counter",
    "gauge",
  ]);
  for (const { name } of metrics)
    expect(types.get(name)).toBe(name.endsWith("_total") ? "counter" : "gauge");
});
