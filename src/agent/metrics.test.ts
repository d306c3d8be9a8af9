import { expect, test } from "vitest";
import { metrics, renderMetrics } from "./metrics.ts";
import type { BestEffortStatus, GpuStatus, HighStatus, Status } from "./status.ts";

const high: HighStatus = {
  class: "high",
  name: "serve",
  pid: 42,
  slot: 0,
  connected: true,
  sloP99Us: undefined,
  sloSlowdown: undefined,
  bursts: 100,
  launches: 2000,
  copies: 0,
  timeouts: 0,
  tailWrites: 0,
  unhooked: 0,
  busySeconds: 0.25,
  burstP50Us: 2000,
  burstP99Us: 4000,
  burstsPerS: 25,
  activeShare: 0.05,
  aheadMeanUs: 60,
  aheadMaxUs: 190,
  burstP50SinceStartUs: 2000,
  burstP99SinceStartUs: 4000,
};

const bestEffort: BestEffortStatus = {
  class: "best-effort",
  name: "train",
  pid: 43,
  slot: 1,
  connected: true,
  launches: 10,
  graphs: 5,
  copies: 0,
  chunks: 3,
  trickles: 1,
  longKernels: 0,
  longestKernelUs: 0,
  unknownLaunches: 0,
  unhooked: 0,
  memoryUsed: 1000,
  memoryQuota: 0,
  memoryRefusals: 2,
  aheadUs: 0,
  finishedSeconds: 7,
  heldSeconds: 1.5,
  cappedSeconds: 0.5,
  turnSeconds: 0,
  emptySeconds: 0.25,
  gpuShare: 0.7,
  heldShare: 0.1,
  cappedShare: 0,
  turnShare: 0,
  emptyShare: 0,
};

const gpu: GpuStatus = {
  uuid: "GPU-a",
  name: "Fake GPU",
  reading: undefined,
  served: undefined,
  high: [high],
  bestEffort: [bestEffort],
  strangers: [{ pid: 9, name: "other", memory: 0 }],
};

const status: Status = {
  agent: {
    pid: 1,
    mode: "isolated",
    policy: "strict",
    gpu: "soft",
    port: 1,
    upSeconds: 10,
    cpuShare: 0.005,
    residentBytes: 6e7,
    mpsRestarts: 0,
  },
  gpus: [gpu],
};

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
    cotenant_unhooked entry points
    cotenant_bursts_total bursts
    cotenant_burst_p50_seconds seconds
    cotenant_burst_p99_seconds seconds
    cotenant_busy_seconds_total seconds
    cotenant_active_share ratio
    cotenant_ahead_mean_seconds seconds
    cotenant_ahead_max_seconds seconds
    cotenant_timeouts_total bursts
    cotenant_finished_seconds_total seconds
    cotenant_held_seconds_total seconds
    cotenant_capped_seconds_total seconds
    cotenant_turn_seconds_total seconds
    cotenant_empty_seconds_total seconds
    cotenant_trickles_total pauses
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
  const { text } = await renderMetrics(status);
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  expect(lines.join("\n")).toMatchInlineSnapshot(`
    "cotenant_agent_cpu_share 0.005
    cotenant_agent_resident_bytes 60000000
    cotenant_agent_up_seconds 10
    cotenant_mps_restarts_total 0
    cotenant_strangers{gpu="GPU-a"} 1
    cotenant_launches_total{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 2000
    cotenant_launches_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 15
    cotenant_unhooked{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0
    cotenant_unhooked{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 0
    cotenant_bursts_total{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 100
    cotenant_burst_p50_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.002
    cotenant_burst_p99_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.004
    cotenant_busy_seconds_total{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.25
    cotenant_active_share{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.05
    cotenant_ahead_mean_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.00006
    cotenant_ahead_max_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.00019
    cotenant_timeouts_total{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0
    cotenant_finished_seconds_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 7
    cotenant_held_seconds_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 1.5
    cotenant_capped_seconds_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 0.5
    cotenant_turn_seconds_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 0
    cotenant_empty_seconds_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 0.25
    cotenant_trickles_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 1
    cotenant_memory_used_bytes{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 1000
    cotenant_memory_refusals_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 2"
  `);
});

test("a machine without GPUs and clients still has all of the agent's metrics", async () => {
  const { text } = await renderMetrics({ ...status, gpus: [] });
  expect(text).toContain("cotenant_agent_cpu_share 0.005");
});
