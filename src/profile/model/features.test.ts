import fc from "fast-check";
import { expect, test } from "vitest";
import { example } from "../../../test/profile/example.ts";
import { kaceFeatures, kaceNames, kacePair, muxflowFeatures, muxflowInput } from "./features.ts";
import type { WorkloadProfile } from "./types.ts";

const featuresOf = (profile: WorkloadProfile) => {
  const found = kaceFeatures(profile);
  if (!found.ok) throw new Error(found.reason);
  return found.features;
};

test("KACE: kernel metrics are means weighted by duration, in the units of its measurements", () => {
  // 9 us of gemm and twice 3 us of layer_norm: the weights are 0.6 and 0.4.
  expect(featuresOf(example)).toEqual({
    smBusy: 40,
    memoryBusy: 20,
    memoryGB: 2,
    smThroughput: expect.closeTo(0.6 * 80 + 0.4 * 20),
    memoryThroughput: expect.closeTo(0.6 * 50 + 0.4 * 90),
    dramThroughput: expect.closeTo(0.6 * 30 + 0.4 * 70),
    threads: expect.closeTo(0.6 * 128 * 384 + 0.4 * 512 * 256),
    registers: expect.closeTo(0.6 * 128 * 384 * 168 + 0.4 * 512 * 256 * 32),
    staticSharedBytes: expect.closeTo(0.6 * 128 * 1024),
    soloThroughput: expect.closeTo(303.03),
  });
});

test("KACE: of a pair, raw metrics are summed and percentages averaged", () => {
  const a = featuresOf(example);
  const b = featuresOf({ ...example, smBusy: 1, memoryBytes: 5e9, soloNs: 1e9 });
  expect(kacePair(a, b)).toMatchObject({ smBusy: 70, memoryGB: 7, threads: 2 * a.threads });
  expect(kacePair(a, b).soloThroughput).toBeCloseTo(304.03);
  expect(kacePair(a, b)).toEqual(kacePair(b, a));
  expect(Object.keys(kacePair(a, b))).toEqual(kaceNames);
});

test("a kernel without a metric does not count for it", () => {
  const [gemm, norm] = example.kernels;
  if (!gemm || !norm) throw new Error("no example");
  const { sm: _, ...unmeasured } = norm;
  expect(featuresOf({ ...example, kernels: [gemm, unmeasured] }).smThroughput).toBeCloseTo(80);
});

test("a profile that lacks metrics has no features, and says which", () => {
  const { smBusy: _, smActivity: __, ...less } = example;
  const kernels = example.kernels.map(({ dram: ___, ...kernel }) => kernel);
  expect(kaceFeatures({ ...less, soloNs: undefined, kernels })).toEqual({
    ok: false,
    reason: "The profile of bert on NVIDIA H200 lacks smBusy, dramThroughput, soloThroughput.",
  });
  expect(muxflowFeatures(less)).toEqual({
    ok: false,
    reason: "The profile of bert on NVIDIA H200 lacks gpuUtilization, smActivity.",
  });
});

test("MuxFlow: four figures of each workload and the SM share", () => {
  const found = muxflowFeatures(example);
  if (!found.ok) throw new Error(found.reason);
  const offline = { ...found.features, separateMs: 120 };
  expect(muxflowInput(found.features, offline, 0.3)).toEqual([
    ...[0.4, 0.35, 0.1, 3.3],
    ...[0.4, 0.35, 0.1, 120],
    0.3,
  ]);
});

const measured = fc.record({
  p50: fc.integer({ min: 1, max: 1e9 }),
  sm: fc.double({ min: 0, max: 1, noNaN: true }),
});

test("a mean over kernels lies between the least and the most of them", () => {
  const [gemm] = example.kernels;
  if (!gemm) throw new Error("no example");
  fc.assert(
    fc.property(fc.array(measured, { minLength: 1 }), (all) => {
      const kernels = all.map(({ p50, sm }) => ({ ...gemm, sm, durationNs: { p50, p95: p50 } }));
      const sequence = kernels.map((_, kernel) => ({ kernel }));
      const { smThroughput } = featuresOf({ ...example, kernels, sequence });
      const used = all.map(({ sm }) => sm * 100);
      expect(smThroughput).toBeGreaterThanOrEqual(Math.min(...used) - 1e-9);
      expect(smThroughput).toBeLessThanOrEqual(Math.max(...used) + 1e-9);
    }),
  );
});
