import { expect, test } from "vitest";
import { example } from "../../test/profile/example.ts";
import { kernelLookup } from "./lookup.ts";
import type { Dim3, KernelProfile } from "./types.ts";

const kernel = (name: string, blocks: number, p50: number): KernelProfile => ({
  name,
  grid: [blocks, 1, 1],
  block: [128, 1, 1],
  durationNs: { p50, p95: p50 },
  smsNeeded: blocks,
  class: "memory",
});
const small = kernel("copy", 10, 1000);
const large = kernel("copy", 1000, 90_000);
const slow = { ...small, registers: 255, durationNs: { p50: 5000, p95: 5000 } };
const find = kernelLookup({ ...example, kernels: [small, large, slow, kernel("other", 1, 1)] });
const launch = (name: string, grid: Dim3) => ({ name, grid, block: [128, 1, 1] as Dim3 });

test("a kernel is found by name and shape; of two, the longer is taken", () => {
  expect(find(launch("copy", [1000, 1, 1]))).toBe(large);
  expect(find(launch("copy", [10, 1, 1]))).toBe(slow);
});

test("for another shape, the profiled kernel with the nearest number of blocks is taken", () => {
  expect(find(launch("copy", [30, 30, 1]))).toBe(large);
  expect(find(launch("copy", [12, 1, 1]))).toBe(slow);
  expect(find({ ...launch("copy", [1000, 1, 1]), block: [64, 1, 1] })).toBe(large);
});

test("a kernel that was not profiled is unknown, with an SM for each block", () => {
  expect(find(launch("new", [6, 2, 1]))).toEqual({
    name: "new",
    grid: [6, 2, 1],
    block: [128, 1, 1],
    durationNs: { p50: 0, p95: 0 },
    smsNeeded: 12,
    class: "unknown",
  });
});
