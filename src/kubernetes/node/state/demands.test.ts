import { expect, test } from "vitest";
import type { GpuStatus } from "#agent";
import { Demands } from "./demands.ts";

const GIB = 2 ** 30;
const claim = {
  ...{ namespace: "research", uid: "1", name: "cotenant-1", podUid: "33", podName: "train" },
  ...{ gpu: "GPU-1", memoryBytes: 5, devices: [] },
};

interface Sample {
  /** Seconds of work, and GPU time in it. */
  readonly seconds?: number;
  readonly kernelSeconds?: number;
  readonly keptShare?: number;
  readonly soloBusy?: number;
  readonly pid?: number;
  readonly high?: object;
  readonly jobs?: number;
}

const none = { seconds: 0, submissions: 0, kernelSeconds: 0 };

function gpu(sample: Sample): readonly GpuStatus[] {
  const { seconds = 0, kernelSeconds = 0, keptShare = 1, soloBusy, pid = 7, high = {} } = sample;
  const shared = { seconds, submissions: 10 * seconds, kernelSeconds };
  const job = {
    ...{ identity: { pod: "33" }, pid, keptShare, gpuMemory: 3 * GIB },
    work: { solo: none, shared, soloPerS: undefined, soloBusy },
  };
  const service = { identity: { pod: "44" }, gpuMemory: 2 * GIB, burstsPerS: 50, ...high };
  const bestEffort = sample.jobs === 0 ? [] : [job];
  return [{ uuid: "GPU-1", high: [service], bestEffort }] as unknown as readonly GpuStatus[];
}

/** Samples of each second from `from` to `to`. */
function pass(demands: Demands, from: number, to: number, of: (s: number) => Sample): void {
  for (let s = from; s <= to; s++) demands.sample([claim], gpu(of(s)), () => "44", 1000 * s);
}

const jobIn = (demands: Demands) => demands.of("GPU-1").find(({ podUid }) => podUid === "33");
const serviceIn = (demands: Demands) => demands.of("GPU-1").find(({ podUid }) => podUid === "44");

test("a pod is described after a minute, by the time in which its work need not wait", () => {
  const demands = new Demands();
  // It waits half of the time, and its kernels run for 0.3 s of each second.
  const of = (s: number) => ({ seconds: s, kernelSeconds: 0.3 * s, keptShare: 0.5 });
  pass(demands, 0, 59, of);
  expect(demands.of("GPU-1")).toEqual([]);
  pass(demands, 60, 60, of);
  expect(jobIn(demands)).toEqual({
    ...{ podUid: "33", seconds: 60, memoryBytes: 3 * GIB, busy: 0.6 },
  });
});

test("what it does while it has the GPU by itself counts more, and stays", () => {
  const demands = new Demands();
  const of = (s: number) => ({ seconds: s, kernelSeconds: s });
  pass(demands, 0, 60, (s) => ({ ...of(s), soloBusy: 0.25 }));
  pass(demands, 61, 70, of);
  expect(jobIn(demands)?.busy).toBe(0.25);
});

test("another process of the pod, or another agent, begins to count again", () => {
  const demands = new Demands();
  pass(demands, 0, 60, (s) => ({ seconds: 1000 + s, kernelSeconds: 500 + 0.5 * s }));
  pass(demands, 61, 90, (s) => ({ seconds: s, kernelSeconds: 0.5 * s, pid: 8 }));
  pass(demands, 91, 120, (s) => ({ seconds: s - 90, kernelSeconds: 0.5 * (s - 90), pid: 8 }));
  expect(jobIn(demands)?.busy).toBeCloseTo(0.5, 2);
});

test("a service has its requests by itself, and none while it starts", () => {
  const demands = new Demands();
  const high = { burstP50Us: 4000 };
  pass(demands, 0, 60, () => ({ high: { ...high, starting: true }, jobs: 0 }));
  expect(serviceIn(demands)).toEqual({ podUid: "44", seconds: 60, memoryBytes: 2 * GIB });
  pass(demands, 61, 62, () => ({ high, jobs: 0 }));
  expect(serviceIn(demands)).toMatchObject({ unit: "burst", p50Us: 4000, perS: 50 });
  // Bursts beside a job are longer.
  pass(demands, 63, 64, () => ({ high: { burstP50Us: 9000 } }));
  expect(serviceIn(demands)?.p50Us).toBe(4000);
  const steps = { stepP50Us: 8000, stepsPerS: 120 };
  pass(demands, 65, 66, () => ({ high: { ...high, steps }, jobs: 0 }));
  expect(serviceIn(demands)).toMatchObject({ unit: "step", p50Us: 8000, perS: 120 });
});

test("pods that are gone are not described", () => {
  const demands = new Demands();
  pass(demands, 0, 60, (s) => ({ seconds: s }));
  demands.sample([], gpu({ jobs: 0 }), () => undefined, 61_000);
  expect(demands.of("GPU-1")).toEqual([]);
});
