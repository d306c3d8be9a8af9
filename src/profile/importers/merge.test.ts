import { expect, test } from "vitest";
import { example } from "../../../test/profile/example.ts";
import type { KernelProfile, WorkloadProfile } from "../model/types.ts";
import { withoutSamples, withUtilisation } from "./merge.ts";

const kernel = (name: string, more: Partial<KernelProfile> = {}): KernelProfile => ({
  name,
  grid: [128, 1, 1],
  block: [256, 1, 1],
  dynamicSharedBytes: 0,
  durationNs: { p50: 5000, p95: 6000 },
  smsNeeded: 16,
  class: "unknown",
  ...more,
});

const of = (...kernels: readonly KernelProfile[]): WorkloadProfile => ({ ...example, kernels });

test("utilisation and class come from the samples, the order stays", () => {
  const sample = kernel("a", {
    durationNs: { p50: 9000, p95: 9000 },
    sm: 0.8,
    memory: 0.1,
    class: "compute",
  });
  const merged = withUtilisation(of(kernel("a"), kernel("b")), of(sample), "samples");
  expect(merged.kernels).toEqual([
    kernel("a", { sm: 0.8, memory: 0.1, class: "compute" }),
    kernel("b"),
  ]);
  expect(merged.sequence).toBe(example.sequence);
  expect(withoutSamples(merged).map(({ name }) => name)).toEqual(["b"]);
});

test("a kernel launched by itself gets the shorter duration, a kernel in a graph keeps its own", () => {
  const both = of(kernel("a"), kernel("b"), kernel("c"));
  const recorded: WorkloadProfile = {
    ...both,
    sequence: [
      { kernel: 0, gapNs: 3000 },
      { kernel: 2, gapNs: 3000 },
      { kernel: 1, gapNs: 3000 },
      { kernel: 1, gapNs: 0 },
      { kernel: 1, gapNs: 0 },
    ],
  };
  const quick = { durationNs: { p50: 2000, p95: 2100 }, sm: 0.1 };
  const slow = { durationNs: { p50: 9000, p95: 9000 }, sm: 0.1 };
  const samples = of(kernel("a", quick), kernel("b", quick), kernel("c", slow));
  expect(withUtilisation(recorded, samples, "f").kernels.map((one) => one.durationNs)).toEqual([
    { p50: 2000, p95: 3000 },
    { p50: 5000, p95: 6000 },
    { p50: 5000, p95: 6000 },
  ]);
});

test("another shape is another kernel; the same shared memory is preferred", () => {
  const samples = of(
    kernel("a", { grid: [64, 1, 1], sm: 0.1, memory: 0.1 }),
    kernel("a", { dynamicSharedBytes: 1024, sm: 0.2, memory: 0.2 }),
    kernel("a", { sm: 0.3, memory: 0.3 }),
  );
  expect(withUtilisation(of(kernel("a")), samples, "f").kernels[0]?.sm).toBe(0.3);
  const other = kernel("a", { dynamicSharedBytes: 7 });
  expect(withUtilisation(of(other), samples, "f").kernels[0]?.sm).toBe(0.2);
});

test("samples of another GPU are refused", () => {
  const elsewhere = { ...of(kernel("a")), gpu: { ...example.gpu, name: "Tesla T4" } };
  expect(() => withUtilisation(of(kernel("a")), elsewhere, "ncu's samples-0.csv")).toThrow(
    "ncu's samples-0.csv: it was sampled on Tesla T4, but the profile is of NVIDIA H200.",
  );
});
