import { expect, test } from "vitest";
import { classify } from "./classify.ts";
import { gpuNamed, gpus, ridgePoint } from "./gpus.ts";

const ridge = 10;

test.each([
  { name: "many operations per byte", of: { flops: 2000, bytes: 100, ridge }, is: "compute" },
  { name: "few operations per byte", of: { flops: 500, bytes: 100, ridge }, is: "memory" },
  { name: "all in the caches", of: { flops: 500, bytes: 0, ridge }, is: "compute" },
  {
    name: "the roofline, whatever the utilisations say",
    of: { flops: 500, bytes: 100, ridge, sm: 0.9, memory: 0.1 },
    is: "memory",
  },
  { name: "a busy SM", of: { sm: 0.61, memory: 0.3 }, is: "compute" },
  { name: "busy memory", of: { sm: 0.3, memory: 0.61 }, is: "memory" },
  { name: "both busy, the SM more", of: { sm: 0.9, memory: 0.8 }, is: "compute" },
  { name: "both busy, memory more", of: { sm: 0.8, memory: 0.9 }, is: "memory" },
  { name: "exactly 60 %", of: { sm: 0.6, memory: 0.6 }, is: "unknown" },
  { name: "neither busy", of: { sm: 0.2, memory: 0.2 }, is: "unknown" },
  {
    name: "no floating point, memory busy",
    of: { flops: 0, bytes: 1, ridge, memory: 0.7 },
    is: "memory",
  },
  { name: "no ridge to compare with", of: { flops: 1e9, bytes: 1, memory: 0.7 }, is: "memory" },
  { name: "nothing known", of: {}, is: "unknown" },
])("$name: $is", ({ of, is }) => expect(classify(of)).toBe(is));

test("fp32 peaks are those of the lanes at the boost clock", () => {
  for (const gpu of gpus) {
    const peak = gpu.sms * gpu.fp32Lanes * 2 * gpu.boostClockMHz * 1e6;
    expect(Math.abs(gpu.fp32Flops / peak - 1), gpu.short).toBeLessThan(0.01);
  }
});

test("a GPU is known by the driver's name and the short one, a slice of one is not", () => {
  expect(gpuNamed("Tesla V100-SXM2-16GB")).toBe(gpuNamed("V100"));
  expect(gpuNamed("NVIDIA H200")?.sms).toBe(132);
  expect(gpuNamed("NVIDIA H200 MIG 1g.18gb")).toBeUndefined();
  const names = gpus.flatMap(({ short, names }) => [short, ...names]);
  expect(new Set(names).size).toBe(names.length);
});

test("the V100's ridge is 17 operations per byte", () => {
  const v100 = gpuNamed("V100");
  expect(v100 && ridgePoint(v100)).toBeCloseTo(17.4, 1);
});
