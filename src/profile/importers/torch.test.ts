import { describe, expect, test } from "vitest";
import type { About } from "./about.ts";
import { importTorch } from "./torch.ts";

const about: About = { name: "net", kind: "training", file: "trace.json", source: "train.py" };

const h100 = {
  id: 0,
  name: "NVIDIA H100 80GB HBM3",
  computeMajor: 9,
  computeMinor: 0,
  numSms: 132,
};

interface Made {
  readonly cat: string;
  readonly name: string;
  readonly ts: number;
  readonly dur: number;
  readonly args?: object;
}
const trace = (...events: readonly (Made | readonly Made[])[]) =>
  JSON.stringify({
    schemaVersion: 1,
    deviceProperties: [h100],
    traceEvents: events.flat().map((event) => ({ ph: "X", pid: 1, tid: 1, ...event })),
  });

let correlation = 0;
/** A call at `ts` that takes 4 us. Its work runs 20 us later, for `dur`. */
const asks = (
  cat: string,
  api: string,
  name: string,
  ts: number,
  dur: number,
  args = {},
): Made[] => {
  correlation++;
  const ids = { correlation, device: 0, stream: 7 };
  return [
    { cat: "cuda_runtime", name: api, ts, dur: 4, args: { correlation } },
    { cat, name, ts: ts + 20, dur, args: { ...ids, ...args } },
  ];
};
const kernel = (name: string, ts: number, dur: number, args = {}) =>
  asks("kernel", "cudaLaunchKernel", name, ts, dur, {
    grid: [264, 1, 1],
    block: [128, 1, 1],
    "registers per thread": 32,
    "shared memory": 16_384,
    ...args,
  });
const copy = (kind: string, ts: number, bytes: number) =>
  asks("gpu_memcpy", "cudaMemcpyAsync", `Memcpy ${kind}`, ts, 2.5, { bytes });
const annotation = (name: string, ts: number, dur: number): Made => ({
  cat: "user_annotation",
  name,
  ts,
  dur,
});
const step = (n: number, ts: number, dur: number) => annotation(`ProfilerStep#${n}`, ts, dur);

test("a scheduled trace: durations of all iterations, the order and CPU time of the last", () => {
  const text = trace(
    kernel("warmup", 10, 5),
    step(1, 100, 500),
    kernel("gemm", 110, 50),
    kernel("relu", 130, 3.25),
    step(2, 700, 700),
    annotation("forward", 705, 100),
    copy("HtoD (Pinned -> Device)", 710, 4096),
    kernel("gemm", 730, 60),
    annotation("## Backward ##", 735, 50),
    kernel("relu", 740.5, 4.25),
    annotation("Optimizer.zero_grad#SGD.zero_grad", 750, 5),
    annotation("Optimizer.step#SGD.step", 760, 50),
    kernel("gemm", 770, 70),
    { cat: "cuda_runtime", name: "cudaStreamSynchronize", ts: 800, dur: 300 },
    kernel("relu", 1120, 5.25),
    copy("DtoH (Device -> Pageable)", 1130, 8),
    { cat: "cpu_op", name: "aten::relu", ts: 1119, dur: 9 },
    annotation("forward", 1500, 100),
  );
  expect(importTorch(text, about)).toEqual({
    version: 1,
    name: "net",
    kind: "training",
    gpu: { name: "NVIDIA H100 80GB HBM3", computeCapability: "9.0", sms: 132 },
    source: "train.py",
    soloNs: 600_000,
    kernels: [
      {
        name: "gemm",
        grid: [264, 1, 1],
        block: [128, 1, 1],
        registers: 32,
        dynamicSharedBytes: 16_384,
        durationNs: { p50: 60_000, p95: 70_000 },
        // 17 KiB a block: 13 blocks fit on an SM.
        smsNeeded: 21,
        class: "unknown",
      },
      expect.objectContaining({ name: "relu", durationNs: { p50: 4250, p95: 5250 } }),
    ],
    sequence: [
      { mark: "forward" },
      { copy: "in", bytes: 4096 },
      // From the start of the iteration, without the call of the copy: 30 - 4.
      { kernel: 0, gapNs: 26_000 },
      { mark: "backward" },
      { kernel: 1, gapNs: 6500 },
      { mark: "optimizer" },
      { kernel: 0, gapNs: 25_500 },
      // 1120 - 774, of which 300 us were spent waiting for the GPU.
      { kernel: 1, gapNs: 46_000 },
      { copy: "out", bytes: 8 },
    ],
  });
});

test("without a schedule the trace is one iteration of unknown duration", () => {
  const { soloNs, sequence } = importTorch(trace(kernel("a", 50, 1), kernel("b", 60, 1)), about);
  expect({ soloNs, sequence }).toEqual({
    soloNs: undefined,
    sequence: [{ kernel: 0 }, { kernel: 1, gapNs: 6000 }],
  });
});

test("a time measured without the profiler has precedence", () => {
  expect(importTorch(trace(step(1, 0, 90), kernel("a", 5, 1)), about).soloNs).toBe(90_000);
  expect(
    importTorch(trace(step(1, 0, 90), kernel("a", 5, 1)), { ...about, soloNs: 85_000 }).soloNs,
  ).toBe(85_000);
});

test("kernels of one CUDA graph share a call: no CPU time passes between them", () => {
  const shape = { grid: [1, 1, 1], block: [32, 1, 1], correlation: 9001, device: 0 };
  const text = trace(
    { cat: "cuda_runtime", name: "cudaGraphLaunch", ts: 10, dur: 30, args: { correlation: 9001 } },
    { cat: "kernel", name: "second", ts: 70, dur: 5, args: shape },
    { cat: "kernel", name: "first", ts: 60, dur: 5, args: shape },
    kernel("after", 100, 1),
  );
  const { kernels, sequence } = importTorch(text, about);
  expect(kernels.map(({ name }) => name)).toEqual(["first", "second", "after"]);
  expect(sequence).toEqual([{ kernel: 0 }, { kernel: 1, gapNs: 0 }, { kernel: 2, gapNs: 60_000 }]);
});

test("a launch whose call is not in the trace is ordered by the time at which it ran", () => {
  const lone: Made = {
    cat: "kernel",
    name: "lone",
    ts: 57,
    dur: 1,
    args: { grid: [1, 1, 1], block: [32, 1, 1], device: 0 },
  };
  const { sequence } = importTorch(trace(kernel("a", 50, 1), lone, kernel("b", 60, 1)), about);
  expect(sequence).toEqual([{ kernel: 0 }, { kernel: 1 }, { kernel: 2, gapNs: 6000 }]);
});

test("copies and fills within the GPU are small kernels that need memory", () => {
  const text = trace(
    kernel("a", 10, 1),
    copy("DtoD (Device -> Device)", 20, 1e6),
    asks("gpu_memset", "cudaMemsetAsync", "Memset (Device)", 30, 1.5, { bytes: 64 }),
  );
  expect(importTorch(text, about).kernels.slice(1)).toMatchObject([
    { name: "Memcpy DtoD (Device -> Device)", smsNeeded: 1, class: "memory" },
    { name: "Memset (Device)", smsNeeded: 1, class: "memory", durationNs: { p50: 1500 } },
  ]);
});

test("a trace from before PyTorch 1.12 has other categories, and may be only a list", () => {
  const text = JSON.stringify([
    { ph: "X", cat: "Runtime", name: "cudaLaunchKernel", ts: 1, dur: 2, args: { correlation: 1 } },
    {
      ph: "X",
      cat: "Kernel",
      name: "k",
      ts: 9,
      dur: 3,
      args: { correlation: 1, device: 0, grid: [160, 1, 1], block: [1024, 1, 1] },
    },
  ]);
  const { gpu, kernels } = importTorch(text, { ...about, gpu: "V100" });
  expect(gpu.name).toBe("Tesla V100-SXM2-16GB");
  expect(kernels).toMatchObject([{ name: "k", smsNeeded: 80, durationNs: { p50: 3000 } }]);
});

test("with several GPUs the busiest counts", () => {
  const other = kernel("elsewhere", 5, 1, { device: 1 });
  const text = trace(other, kernel("a", 10, 1), kernel("b", 20, 1));
  expect(importTorch(text, about).kernels.map(({ name }) => name)).toEqual(["a", "b"]);
});

describe("says in a sentence", () => {
  const whole = trace(kernel("a", 50, 1));
  test.each([
    {
      text: '{\n"traceEvents": [\n{"ph": "X",\n',
      says: "trace.json, line 4, traceEvents[0].ph: it ends early: was it cut short?",
    },
    {
      text: '{"hello": 1}',
      says: "trace.json: it is no trace of the PyTorch profiler: it has no traceEvents.",
    },
    { text: trace(), says: "trace.json: it holds no launch." },
    {
      text: whole.replace('"grid":[264,1,1]', '"grid":[264,1]'),
      says: "trace.json, line 1, traceEvents[1].args.grid: is not three sizes.",
    },
    {
      text: whole.replace('"dur":1,', '"dur":"1",'),
      says: 'trace.json, line 1, traceEvents[1].dur: is "1", not a number of 0 or more.',
    },
    {
      text: JSON.stringify({ ...JSON.parse(whole), deviceProperties: undefined }),
      says: "trace.json: it does not say which GPU it was recorded on.",
    },
  ])("$says", ({ text, says }) => expect(() => importTorch(text, about)).toThrow(says));
});
