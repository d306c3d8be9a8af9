import { expect, test } from "vitest";
import { kernelTitle } from "./kernel-title.ts";

test.each([
  ["_Z4spinPfi", "spin"],
  [
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIfffEEEviT0_T1_",
    "at::native::vectorized_elementwise_kernel",
  ],
  [
    "_ZN2at6native54_GLOBAL__N__d8ceb000_21_DistributionNormal_cu_0c5b6e8543distribution_elementwise_grid_stride_kernelIfLi4E",
    "at::native::distribution_elementwise_grid_stride_kernel",
  ],
  ["ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"],
  ["_Z", "_Z"],
  ["_ZN99999999999short", "short"],
  ["", undefined],
])("%s is called %s", (name, title) => {
  expect(kernelTitle(name)).toBe(title);
});

test("a long name is cut", () => {
  expect(kernelTitle("k".repeat(100))).toBe(`${"k".repeat(59)}…`);
});
