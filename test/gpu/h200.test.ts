// The modelled H200 against the real one: the experiments of docs/results/hardware.md, rebuilt. The model's
// constants for slices, switches, preemption points and resuming come from that page too; what is compared here are the
// latencies that follow from them. Limits are wide where the page itself says that a sample is small.
import { describe, expect, test } from "vitest";
import { arrangementNamed, runWindow } from "#gpu";
import { h200, type KernelShape, workload } from "./example.ts";
import { arrivals, rate, serviceUs } from "./quantiles.ts";

const gpu = h200();
const of = (count: number, shape: KernelShape) => Array.from({ length: count }, () => shape);
const graph = {
  profile: workload("50 x 50 us", of(50, { us: 49.2 }), { kind: "inference" }),
  submission: "graph",
} as const;
const tiny = {
  profile: workload("tiny", [{ us: 2, sms: 1 }], { kind: "inference" }),
  submission: "kernels",
} as const;
const chain = {
  profile: workload("16 x 200 us", of(16, { us: 192 }), { kind: "inference" }),
  submission: "kernels",
} as const;
const kernels = (us: number, waves: number) =>
  ({
    profile: workload(`${us} us`, of(20, { us, sms: 132 * waves })),
    submission: "kernels",
  }) as const;

function beside(
  arrangement: string,
  high: typeof graph | typeof tiny | typeof chain,
  bestEffort: ReturnType<typeof kernels>,
  pauses: readonly [number, number],
) {
  const plan = {
    high: { ...high, arrivalsNs: arrivals(4, ...pauses) },
    bestEffort: [bestEffort],
    seconds: 4,
    gpu,
  };
  const solo = runWindow({ ...plan, arrangement: arrangementNamed("solo") });
  const window = runWindow({ ...plan, arrangement: arrangementNamed(arrangement) });
  return { solo, window, ratio: (q: number) => serviceUs(window, q) / serviceUs(solo, q) };
}

/** As it was measured: before time slices were begun again. */
const chunks = (mode: string, us: number) =>
  `strict-${mode}:chunkUs=${us},chunkLaunches=64,resumeDelayUs=0,renewUs=0`;

describe("isolated, a gated request of 2.5 ms takes as long as measured, within 7 %", () => {
  test.each([
    { us: 100, p50: 1.079, p99: 1.251 },
    { us: 200, p50: 1.096, p99: 1.247 },
    { us: 400, p50: 1.147, p99: 1.346 },
  ])("chunks of $us us", ({ us, p50, p99 }) => {
    const { ratio } = beside(chunks("isolated", us), graph, kernels(20, 1), [6, 12]);
    expect(Math.abs(ratio(0.5) / p50 - 1)).toBeLessThan(0.07);
    expect(Math.abs(ratio(0.99) / p99 - 1)).toBeLessThan(0.07);
  });
});

describe("isolated, a tiny gated request waits for its chunk and a switch, as measured within 10 %", () => {
  test.each([
    { us: 100, p50: 185.9, p99: 242.6 },
    { us: 200, p50: 228.1, p99: 341.4 },
    { us: 400, p50: 346.5, p99: 533.8 },
  ])("chunks of $us us", ({ us, p50, p99 }) => {
    const { window } = beside(chunks("isolated", us), tiny, kernels(20, 1), [1, 3]);
    expect(Math.abs(serviceUs(window, 0.5) / p50 - 1)).toBeLessThan(0.1);
    expect(Math.abs(serviceUs(window, 0.99) / p99 - 1)).toBeLessThan(0.1);
  });
});

describe("under MPS, a gated request of 2.5 ms takes as long as measured, within 5 %", () => {
  test.each([
    { us: 100, p50: 1.011, p99: 1.019 },
    { us: 200, p50: 1.025, p99: 1.045 },
    { us: 400, p50: 1.053, p99: 1.096 },
  ])("chunks of $us us", ({ us, p50, p99 }) => {
    const { ratio } = beside(chunks("mps", us), graph, kernels(20, 1), [6, 12]);
    expect(Math.abs(ratio(0.5) / p50 - 1)).toBeLessThan(0.05);
    expect(Math.abs(ratio(0.99) / p99 - 1)).toBeLessThan(0.05);
  });
});

test("isolated and ungated, a tiny request waits up to a slice and a switch", () => {
  for (const us of [50, 948, 18_895]) {
    const { window } = beside("time-slicing", tiny, kernels(us, 4), [3, 9]);
    expect(serviceUs(window, 0.02)).toBeLessThan(400);
    expect(Math.abs(serviceUs(window, 0.5) / 1200 - 1)).toBeLessThan(0.2);
    expect(Math.abs(serviceUs(window, 0.99) / 2270 - 1)).toBeLessThan(0.1);
  }
});

describe("under MPS with priority, each kernel of a chain waits for a wave of the others', within 15 %", () => {
  test.each([
    { us: 192, waves: 4, p50: 3722 },
    { us: 4727, waves: 16, p50: 7524 },
    { us: 18_883, waves: 16, p50: 20_398 },
  ])("beside kernels of $us us", ({ us, waves, p50 }) => {
    const { window } = beside("mps-priority", chain, kernels(us, waves), [40, 80]);
    expect(Math.abs(serviceUs(window, 0.5) / p50 - 1)).toBeLessThan(0.15);
  });
});

test("isolated, two deep queues lose a tenth, and nothing under MPS", () => {
  const both = [kernels(192, 1), kernels(192, 1)];
  const sum = (name: string) => {
    const arrangement = { ...arrangementNamed(name), high: false };
    const window = runWindow({ arrangement, bestEffort: both, seconds: 2, gpu });
    return ((rate(window, 0) + rate(window, 1)) * 20 * 192) / 1e6;
  };
  expect(Math.abs(sum("time-slicing") - 0.902)).toBeLessThan(0.03);
  expect(Math.abs(sum("mps") - 1)).toBeLessThan(0.03);
});
