import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type GpuStatus, metrics, metricsTable, renderMetrics } from "#agent";
import { caveats } from "#protocol";
import { hasPromtool } from "../deploy/prometheus.ts";
import { exampleStatus } from "./example.ts";

const histogram = { counts: Array(17).fill(1), sumSeconds: 5 };
const stepHistograms = { durations: histogram, waits: histogram };
const steps = {
  ...{ stepsPerS: 50, burstsEach: 4, stepP50Us: 18_000, stepP99Us: 19_000, kinds: [] },
  ...{ stepWaitP50Us: 15_000, stepWaitP99Us: 16_000, gapShare: 0.1, waitShare: 0.8 },
};
const told = {
  ...{ perS: 2, open: 3, failed: 1, forgotten: 0, times: {} },
  histograms: { ttft: histogram, tpot: histogram, itl: histogram, e2e: histogram },
};

/** The example with a value for everything. */
const fullStatus = {
  ...exampleStatus,
  gpus: exampleStatus.gpus.map((gpu) => ({
    ...gpu,
    high: gpu.high.map((client) => ({
      ...client,
      objective: { state: "missed", level: 3 } as const,
      sloRequests: { ttft: 200_000 },
      ...{ steps, stepHistograms, told },
    })),
  })),
};

test("the table of metrics in the guide is that of the code", () => {
  const guide = readFileSync("docs/guide/reference/monitoring.md", "utf8");
  expect(guide).toContain(metricsTable().join("\n"));
});

test("every metric has a name of its own, a unit and a meaning", () => {
  expect(new Set(metrics.map(({ name }) => name)).size).toBe(metrics.length);
  for (const { name, unit, doc } of metrics) {
    expect(name).toMatch(/^cotenant_[a-z0-9_]+$/);
    expect(unit && doc).toBeTruthy();
  }
});

test("every metric has the labels that its table names, and no others", () => {
  for (const { name, labels, samples } of metrics) {
    const found = samples(fullStatus);
    expect(found.length, name).toBeGreaterThan(0);
    for (const [, shown] of found) expect(Object.keys(shown), name).toEqual(labels);
  }
});

test.skipIf(!hasPromtool)("promtool finds nothing to blame in the names, units and texts", () => {
  const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], {
    input: renderMetrics(fullStatus),
    encoding: "utf8",
  });
  expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: "" });
});

test("a status becomes Prometheus text, with what is unknown left out", async () => {
  const text = renderMetrics(exampleStatus);
  const lines = text.split("\n").filter((line) => line !== "" && !/^#|_bucket/.test(line));
  expect(lines.join("\n")).toMatchInlineSnapshot(`
    "cotenant_build_info{version="0.1.0"} 1
    cotenant_agent_info{mode="isolated",policy="strict",scope="user"} 1
    cotenant_agent_cpu_seconds_total 0.05
    cotenant_agent_resident_memory_bytes 60000000
    cotenant_agent_up_seconds 10
    cotenant_mps_restarts_total 0
    cotenant_gpu_utilisation_ratio{gpu="GPU-a"} 0.75
    cotenant_gpu_sm_clock_hertz{gpu="GPU-a"} 1980000000
    cotenant_gpu_memory_used_bytes{gpu="GPU-a"} 21474836480
    cotenant_gpu_memory_size_bytes{gpu="GPU-a"} 85899345920
    cotenant_served{gpu="GPU-a"} 0
    cotenant_high_activity_forecast_ratio{gpu="GPU-a"} 0.3
    cotenant_best_effort_sm_share_ratio{gpu="GPU-a"} 0.7
    cotenant_best_effort_share_bound_ratio{gpu="GPU-a"} 0.5
    cotenant_strangers{gpu="GPU-a"} 1
    cotenant_gpu_health{gpu="GPU-a",state="init"} 0
    cotenant_gpu_health{gpu="GPU-a",state="healthy"} 1
    cotenant_gpu_health{gpu="GPU-a",state="unhealthy"} 0
    cotenant_gpu_health{gpu="GPU-a",state="overlimit"} 0
    cotenant_gpu_health{gpu="GPU-a",state="disabled"} 0
    cotenant_gpu_overlimit_entries{gpu="GPU-a"} 1
    cotenant_gpu_health_reading{gpu="GPU-a",reading="memory"} 0.25
    cotenant_gpu_health_reading{gpu="GPU-a",reading="temperature"} -40
    cotenant_client_info{gpu="GPU-a",class="high",name="serve",pid="42",slot="0",job_id="job of serve",grant="an agent of one's own",uid="1000",container="",pod="",unit="",slurm_job=""} 1
    cotenant_client_info{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1",job_id="job of train",grant="",uid="",container="",pod="",unit="",slurm_job=""} 1
    cotenant_client_caveat{gpu="GPU-a",class="high",name="serve",pid="42",slot="0",caveat="several_ranks"} 0
    cotenant_client_caveat{gpu="GPU-a",class="high",name="serve",pid="42",slot="0",caveat="several_gpus"} 0
    cotenant_client_caveat{gpu="GPU-a",class="high",name="serve",pid="42",slot="0",caveat="past_cotenant"} 0
    cotenant_client_caveat{gpu="GPU-a",class="high",name="serve",pid="42",slot="0",caveat="too_many"} 0
    cotenant_client_caveat{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1",caveat="several_ranks"} 0
    cotenant_client_caveat{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1",caveat="several_gpus"} 0
    cotenant_client_caveat{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1",caveat="past_cotenant"} 0
    cotenant_client_caveat{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1",caveat="too_many"} 0
    cotenant_job_processes{class="high",name="serve",job_id="job of serve"} 1
    cotenant_job_processes{class="best-effort",name="train",job_id="job of train"} 1
    cotenant_job_gpus{class="high",name="serve",job_id="job of serve"} 1
    cotenant_job_gpus{class="best-effort",name="train",job_id="job of train"} 1
    cotenant_job_retained_ratio{class="best-effort",name="train",job_id="job of train"} 0.9
    cotenant_job_memory_used_bytes{class="best-effort",name="train",job_id="job of train"} 1000
    cotenant_client_memory_bytes{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 3221225472
    cotenant_launches_total{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 2000
    cotenant_launches_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 15
    cotenant_unhooked_calls_total{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0
    cotenant_unhooked_calls_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 0
    cotenant_burst_duration_seconds_sum{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.25
    cotenant_burst_duration_seconds_count{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 100
    cotenant_burst_wait_seconds_sum{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.125
    cotenant_burst_wait_seconds_count{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 100
    cotenant_burst_p50_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.002
    cotenant_burst_p99_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.004
    cotenant_burst_wait_p50_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.0011
    cotenant_burst_wait_p99_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.0029
    cotenant_active_ratio{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.05
    cotenant_shared_ratio{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0
    cotenant_starting{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0
    cotenant_ahead_mean_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.00006
    cotenant_ahead_max_seconds{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0.00019
    cotenant_timeouts_total{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0
    cotenant_implausible_looks_total{gpu="GPU-a",class="high",name="serve",pid="42",slot="0"} 0
    cotenant_used_ratio{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 0.7
    cotenant_open_ratio{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 0.8
    cotenant_hold_trials_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 2
    cotenant_hold_ignored_total{gpu="GPU-a",class="best-effort",name="train",pid="43",slot="1"} 0
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
  const text = renderMetrics({ ...exampleStatus, gpus: [] });
  expect(text).toContain("cotenant_agent_cpu_seconds_total 0.05");
});

/** The samples of one metric in the text of a status whose only GPU is the example's with `change`. */
async function samplesOf(metric: string, change: Partial<GpuStatus>): Promise<readonly string[]> {
  const gpus = exampleStatus.gpus.map((gpu) => ({ ...gpu, ...change }));
  const text = renderMetrics({ ...exampleStatus, gpus });
  return text.split("\n").filter((line) => line.startsWith(`cotenant_${metric}{`));
}

test("of a GPU that the driver does not list there is no figure, and of its clients there are all", async () => {
  const unlisted = { reading: undefined, health: undefined };
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

test("an objective is shown by its goal, its level and which of the states it has", async () => {
  const high = exampleStatus.gpus.flatMap((gpu) => gpu.high);
  const held = high.map((client) => ({
    ...client,
    sloP99Us: 5000,
    sloSlowdown: 0.05,
    objective: { state: "missed", level: 3 } as const,
  }));
  const states = (await samplesOf("objective_state", { high: held })).map((line) =>
    line.replace(/.*state="(\w+)"\} (\d)$/, "$1 $2"),
  );
  expect(states).toEqual(["learning 0", "met 0", "missed 1", "impossible 0", "unheard 0"]);
  expect(await samplesOf("objective_level", { high: held })).toEqual([
    expect.stringMatching(/ 3$/),
  ]);
  expect(await samplesOf("objective_p99_seconds", { high: held })).toEqual([
    expect.stringMatching(/ 0\.005$/),
  ]);
  expect(await samplesOf("objective_slowdown_ratio", { high: held })).toEqual([
    expect.stringMatching(/ 0\.05$/),
  ]);
  expect(await samplesOf("objective_state", { high })).toEqual([]);
});

test("an objective about requests is shown with its quantile", async () => {
  const requests = { ttft: 200_000, tpot: 8000, quantiles: { tpot: "mean" } } as const;
  const high = exampleStatus.gpus
    .flatMap((gpu) => gpu.high)
    .map((client) => ({ ...client, sloRequests: requests }));
  expect(
    (await samplesOf("objective_request_seconds", { high })).map((line) =>
      line.replace(/.*kind="(\w+)",statistic="(\w+)"\} (\S+)$/, "$1 $2 $3"),
    ),
  ).toEqual(["ttft p99 0.2", "tpot mean 0.008"]);
  expect(await samplesOf("objective_ttft_p99_seconds", { high })).toHaveLength(1);
  expect(await samplesOf("objective_tpot_p99_seconds", { high })).toEqual([]);
});

test("what is not protected of a client is shown by a series for each reason", async () => {
  const high = exampleStatus.gpus.flatMap((gpu) => gpu.high);
  const split = high.map((client) => ({ ...client, caveats: caveats.gpus | caveats.pastUs }));
  const found = (await samplesOf("client_caveat", { high: split, bestEffort: [] })).map((line) =>
    line.replace(/.*caveat="(\w+)"\} (\d)$/, "$1 $2"),
  );
  expect(found).toEqual(["several_ranks 0", "several_gpus 1", "past_cotenant 1", "too_many 0"]);
});

test("the buckets of a histogram add up to its count", async () => {
  const buckets = await samplesOf("burst_duration_seconds_bucket", {});
  expect(buckets.map((line) => line.replace(/.*le="(.+)"\} (\d+)$/, "$1 $2"))).toEqual(
    expect.arrayContaining(["0.0005 0", "0.001 10", "0.0025 60", "0.005 100", "+Inf 100"]),
  );
  expect(await samplesOf("burst_duration_seconds_count", {})).toEqual([
    expect.stringMatching(/ 100$/),
  ]);
  expect(await samplesOf("burst_duration_seconds_sum", {})).toEqual([
    expect.stringMatching(/ 0\.25$/),
  ]);
});

test("a name that holds quotes, backslashes and line ends stays one label", async () => {
  const high = exampleStatus.gpus.flatMap((gpu) => gpu.high);
  const named = high.map((client) => ({ ...client, name: 'a"b\\c\nd' }));
  expect(await samplesOf("active_ratio", { high: named })).toEqual([
    expect.stringContaining(String.raw`name="a\"b\\c\nd"`),
  ]);
});

test("what only grows is a counter for Prometheus, and its name says so", () => {
  for (const { name, type } of metrics) expect(type === "counter").toBe(name.endsWith("_total"));
});

test("ranks of a job on two GPUs are one series of the job, as fast as the slowest", () => {
  const [gpu] = exampleStatus.gpus;
  const [client] = gpu?.bestEffort ?? [];
  if (!gpu || !client) throw new Error("no example");
  const on = (uuid: string, pid: number, keptShare: number): GpuStatus => ({
    ...{ ...gpu, uuid, high: [] },
    bestEffort: [{ ...client, pid, keptShare, job: "a1b2" }],
  });
  const text = renderMetrics({
    ...exampleStatus,
    gpus: [on("GPU-a", 43, 0.5), on("GPU-b", 44, 0.75)],
  });
  const labels = 'class="best-effort",name="train",job_id="a1b2"';
  expect(text.split("\n").filter((line) => line.startsWith("cotenant_job_"))).toEqual([
    `cotenant_job_processes{${labels}} 2`,
    `cotenant_job_gpus{${labels}} 2`,
    `cotenant_job_retained_ratio{${labels}} 0.5`,
    `cotenant_job_memory_used_bytes{${labels}} 2000`,
  ]);
  expect(text).toMatch(/^cotenant_client_info{.*pid="44",.*job_id="a1b2",.*} 1$/m);
});
