// Finds the kernel of a profile that is being launched. A kernel that was not profiled is unknown and not an error,
// because jobs run kernels that their profile did not see.
import { volume } from "./occupancy.ts";
import type { Dim3, KernelProfile, WorkloadProfile } from "./types.ts";

export interface LaunchedKernel {
  readonly name: string;
  readonly grid: Dim3;
  readonly block: Dim3;
}

/**
 * The kernel of this name and shape. Else, of the kernels of this name, the one with the nearest number of blocks; of
 * two as near, the longer. Else an unknown kernel: its duration is 0, and it needs an SM for each block, which is the
 * most that it could fill.
 */
export function kernelLookup(profile: WorkloadProfile): (launch: LaunchedKernel) => KernelProfile {
  const exact = new Map<string, KernelProfile>();
  const named = new Map<string, KernelProfile[]>();
  for (const kernel of profile.kernels) {
    // Two kernels of one shape differ in registers or shared memory. The longer stands for both.
    const other = exact.get(keyOf(kernel));
    if (!other || other.durationNs.p50 < kernel.durationNs.p50) exact.set(keyOf(kernel), kernel);
    const sameName = named.get(kernel.name) ?? [];
    sameName.push(kernel);
    named.set(kernel.name, sameName);
  }
  return (launch) =>
    exact.get(keyOf(launch)) ?? nearest(launch, named.get(launch.name) ?? []) ?? unknown(launch);
}

const keyOf = ({ name, grid, block }: LaunchedKernel): string => `${grid} ${block} ${name}`;

function nearest(launch: LaunchedKernel, kernels: readonly KernelProfile[]) {
  const away = ({ grid }: KernelProfile) => Math.abs(volume(grid) - volume(launch.grid));
  return [...kernels].sort((a, b) => away(a) - away(b) || b.durationNs.p50 - a.durationNs.p50)[0];
}

const unknown = ({ name, grid, block }: LaunchedKernel): KernelProfile => ({
  name,
  grid,
  block,
  durationNs: { p50: 0, p95: 0 },
  smsNeeded: volume(grid),
  class: "unknown",
});
