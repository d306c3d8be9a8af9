// The bench's measurement on a modelled GPU: what it must keep to, and a pair of Orion's jobs where they are
// (COTENANT_DATA, else test/data).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Modelled, markdownTable, model, parseResult } from "#bench";
import { importOrion, type WorkloadProfile } from "#profile";
import { type KernelShape, workload } from "../gpu/example.ts";

const of = (count: number, shape: KernelShape) => Array.from({ length: count }, () => shape);
/** Times vary, so that a seed shows. */
const vary = (profile: WorkloadProfile): WorkloadProfile => ({
  ...profile,
  kernels: profile.kernels.map((kernel) => ({
    ...kernel,
    durationNs: { p50: kernel.durationNs.p50, p95: 1.2 * kernel.durationNs.p50 },
  })),
});
const request = vary(workload("request", of(50, { us: 49 }), { kind: "inference" }));
const training = vary(workload("training", of(100, { us: 20 })));
const as = (profile: WorkloadProfile): Modelled => ({ profile, file: `${profile.name}.json` });

type Options = Parameters<typeof model>[1];
const options: Options = {
  arrivals: "poisson",
  arrangements: ["time-slicing", "strict-isolated"],
  rounds: 2,
  requests: 300,
  seconds: 5,
  graph: false,
  gpu: undefined,
  seed: 0,
  codeFolder: ".",
  command: "cotenant-lab model request+training",
  say() {},
  step() {},
};
const measure = (more: Partial<Options> = {}, high = request, bestEffort = [training]) =>
  model({ high: as(high), bestEffort: bestEffort.map(as) }, { ...options, ...more });
const cellOf = (result: ReturnType<typeof model>, name: string) => {
  const cell = result.cells.find(({ arrangement }) => arrangement === name);
  if (!cell) throw new Error(name);
  return cell;
};

describe("a pair", () => {
  const result = measure();

  test("has a cell for each arrangement, and solo and alone are what ratios are to", () => {
    expect(result.cells.map(({ arrangement, status }) => [arrangement, status])).toEqual(
      ["solo", "alone", "time-slicing", "strict-isolated"].map((name) => [name, "ok"]),
    );
    const { high } = cellOf(result, "solo");
    expect([high?.latency.p50.value, high?.latency.p99.value, high?.throughput.value]).toEqual([
      ...[1, 1, 1],
    ]);
    expect(cellOf(result, "alone").bestEffort?.retained.value).toBe(1);
    expect(high?.activeShare.value).toBeCloseTo(0.2, 1);
  });

  test("of long iterations has a training alone as fast as its profile says", () => {
    const slow = vary(workload("slow", of(100, { us: 20 }), { soloNs: 310e6 }));
    const bench = measure({ requests: 100, seconds: 2 }, request, [slow]);
    const perS = cellOf(bench, "alone").bestEffort?.jobs[0]?.perS ?? 0;
    expect(perS * 0.31).toBeCloseTo(1, 2);
  });

  test("under strict has a shorter tail than under time slicing", () => {
    const p99 = (name: string) => cellOf(result, name).high?.latency.p99.value ?? Number.NaN;
    expect(p99("strict-isolated")).toBeLessThan(1.3);
    expect(p99("time-slicing")).toBeGreaterThan(1.5 * p99("strict-isolated"));
  });

  test("says of which GPU it is a model, and is read back as it was written", () => {
    expect(result.machine).toMatchObject({ gpu: "modelled H200", driver: "model" });
    expect(result.note).toBe("");
    const written = JSON.stringify(result);
    expect(parseResult(written, "model.json")).toEqual(JSON.parse(written));
    expect(markdownTable([result])).toContain("modelled H200, driver model");
  });

  test("is the same for the same seed, and another for another", () => {
    const cells = (seed: number) => JSON.stringify(measure({ seed }).cells);
    expect(cells(0)).toBe(JSON.stringify(result.cells));
    expect(cells(7)).not.toBe(JSON.stringify(result.cells));
    expect(cells(7)).toBe(cells(7));
  });
});

test("a request as one graph is a job of its own", () => {
  const { scenario } = measure({ graph: true, requests: 40 });
  expect(scenario.high.name).toBe("request-graph");
  expect(scenario.high.facts).toMatchObject({ submission: "graph" });
  expect(scenario.bestEffort[0]?.facts).toMatchObject({ submission: "kernels" });
});

test("one side of an arrangement takes part by itself", () => {
  const result = measure({ requests: 40, arrangements: ["solo@strict-mps", "alone@mps-30"] });
  const { high, bestEffort } = cellOf(result, "solo@strict-mps");
  expect([high?.latency.p50.value.toFixed(1), bestEffort]).toEqual(["1.0", undefined]);
  // Kernels that fill all SMs take four waves on 30 % of them.
  const limited = cellOf(result, "alone@mps-30");
  expect([limited.high, limited.bestEffort?.retained.value.toFixed(2)]).toEqual([
    undefined,
    "0.25",
  ]);
});

test.each(["uniform", "bursty", "closed", "steps:2s@0.1,2s@0.5"])("arrivals: %s", (arrivals) => {
  const { cells, scenario } = measure({ arrivals, requests: 40, seconds: 2 });
  expect(scenario.arrivals).toBe(arrivals.split(":")[0]);
  expect(cells.map(({ status }) => status)).toEqual(["ok", "ok", "ok", "ok"]);
  expect(cells[3]?.steps?.length).toBe(arrivals.startsWith("steps") ? 2 : undefined);
});

test("several best-effort jobs have figures each", () => {
  const { cells } = measure({ requests: 40 }, request, [training, training]);
  expect(cells[3]?.bestEffort?.jobs.length).toBe(2);
});

test("requests left over by an overload are said", () => {
  const wide = workload("wide", of(4, { us: 20_000, sms: 132 * 4 }));
  const { note } = measure({ load: 1, arrangements: ["time-slicing"], seconds: 1 }, wide, [
    ...[training, training, training, training, training],
  ]);
  expect(note).toMatch(
    /^time-slicing: \d+ requests were never served; they count with the time that they had waited$/,
  );
});

describe("profiles of another GPU", () => {
  const on = (name: string, computeCapability: string, sms: number, profile = training) => ({
    ...profile,
    gpu: { name, computeCapability, sms },
  });
  const v100 = on("Tesla V100-SXM2-16GB", "7.0", 80);
  const h100 = on("NVIDIA H100 80GB HBM3", "9.0", 132);

  test.each([
    {
      what: "other SMs",
      run: () => measure({}, request, [v100]),
      says: "training was profiled on Tesla V100-SXM2-16GB; it says nothing of its speed on H200.",
    },
    {
      what: "other SMs, though the GPU is named",
      run: () => measure({ gpu: "V100" }),
      says: "request was profiled on H200; it says nothing of its speed on V100.",
    },
    {
      what: "other memory",
      run: () => measure({}, request, [h100]),
      says: "training was profiled on NVIDIA H100 80GB HBM3, the high job on H200.",
    },
    {
      what: "no model",
      run: () => measure({}, on("NVIDIA L4", "8.9", 58, request)),
      says: 'No GPU called "NVIDIA L4" can be modelled.',
    },
  ])("are refused: $what", ({ run, says }) => {
    expect(run).toThrow(says);
  });

  test("pass with other memory where the GPU is named, and the result says so", () => {
    const { machine, note } = measure({ gpu: "H100", requests: 40 }, request, [h100]);
    expect(machine.gpu).toBe("modelled H100");
    expect(note).toBe("request with the kernel times of H200");
  });
});

const folder = join(process.env.COTENANT_DATA ?? "test/data", "orion", "model_kernels");

test("a pair of Orion's jobs on the modelled V100", () => {
  const profile = (name: string) => {
    const file = join(folder, `${name}.csv`);
    return importOrion(readFileSync(file, "utf8"), file, "eth-easl/orion@aded65d");
  };
  const arrangements = ["time-slicing", "mps", "strict-mps"];
  const more = { arrangements, requests: 200, seconds: 10 };
  const result = measure(more, profile("resnet50_4_fwd"), [profile("mobilenetv2_32_fb1")]);
  expect(result.machine.gpu).toBe("modelled V100");
  const [slicing = 0, mps = 0, strict = 0] = arrangements.map(
    (name) => cellOf(result, name).high?.latency.p99.value,
  );
  expect(strict).toBeLessThan(1.2);
  expect(mps).toBeGreaterThan(1.5 * strict);
  expect(slicing).toBeGreaterThan(mps);
  const kept = cellOf(result, "strict-mps").bestEffort?.retained.value;
  expect(kept).toBeGreaterThan(0.7);
});

describe("iterations as long as the window", () => {
  // One block on each SM for 50 ms: under MPS it holds the requests up, and its progress falls between ends.
  const blocks = workload("blocks", of(4, { us: 50_000 }));
  const bench = (load: number, more: Partial<Options> = {}) =>
    measure({ load, requests: 150, rounds: 3, ...more }, request, [blocks]);

  test.each([0.2, 0.6, 1])("keep no more than requests leave, at load %d", (load) => {
    const arrangements = ["strict-isolated", "strict-mps"];
    const result = bench(load, { arrangements });
    const busy = cellOf(result, "solo").high?.activeShare.value ?? Number.NaN;
    for (const name of arrangements) {
      const { high, bestEffort } = cellOf(result, name);
      const served = Math.min(1, high?.throughput.value ?? Number.NaN);
      expect(bestEffort?.retained.value).toBeLessThan(1 - busy * served + 0.03);
      expect(bestEffort?.retainedOfPossible ?? 1).toBeLessThan(1.05);
    }
  });

  test("starve requests under MPS, which have a figure: the time that they had waited", () => {
    const result = bench(0.2, { arrangements: ["mps"] });
    const { status, high } = cellOf(result, "mps");
    expect([status, high?.throughput.value.toFixed(2)]).toEqual(["ok", "0.00"]);
    expect(high?.latency.p50.value).toBeGreaterThan(100);
    expect(result.note).toMatch(/mps: \d+ requests were never served/);
  });
});

test.each([
  [
    "a whole that is far shorter than its kernels",
    workload("short", of(1, { us: 50_000 }), { soloNs: 1 }),
    "The profile short contradicts itself: its kernels add up to 50.0 ms, and all of it takes 0.00000100 ms alone (soloNs).",
  ],
  [
    "blocks that do not fit on the SMs it says",
    ((one) => ({ ...one, kernels: one.kernels.map((kernel) => ({ ...kernel, smsNeeded: 1 })) }))(
      workload("narrow", of(1, { us: 1000 })),
    ),
    "has 132 blocks of 1024 threads, which need 66 to 132 SMs, and smsNeeded is 1.",
  ],
])("a profile that contradicts itself is refused: %s", (_, profile, message) => {
  expect(() => measure({}, request, [profile])).toThrow(message);
});
