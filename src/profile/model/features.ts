// KACE (SoCC'24), section 3.1: ten metrics of a workload. The paper says "we sum up the kernel
// metrics across kernels and weigh them by kernel duration"; its figures show a mean, since
// percentages stay below 100. Section 3.2: raw metrics of a pair are summed and percentages
// averaged. Units are those of the published measurements (per cent, GB, a launch's registers and
// static shared memory in total). MuxFlow (2023), section 5: "GPU utilization, SM activity, SM
// occupancy, separate execution time, and assigned SM percentage" of both workloads. There are no
// published figures, so units are 0 to 1 and ms.
import { volume } from "./occupancy.ts";
import type { KernelProfile, WorkloadProfile } from "./types.ts";

const kaceMetrics = {
  smBusy: "percentage",
  memoryBusy: "percentage",
  memoryGB: "raw",
  smThroughput: "percentage",
  memoryThroughput: "percentage",
  dramThroughput: "percentage",
  threads: "raw",
  registers: "raw",
  staticSharedBytes: "raw",
  /** The unit is requests or iterations per second. */
  soloThroughput: "raw",
} as const;

type KaceName = keyof typeof kaceMetrics;
export type KaceFeatures = Readonly<Record<KaceName, number>>;

export const kaceNames = Object.keys(kaceMetrics) as readonly KaceName[];

const muxflowMetrics = ["gpuUtilization", "smActivity", "smOccupancy", "separateMs"] as const;
type MuxflowName = (typeof muxflowMetrics)[number];
export type MuxflowFeatures = Readonly<Record<MuxflowName, number>>;

export type Featured<T> =
  | { readonly ok: true; readonly features: T }
  | { readonly ok: false; readonly reason: string };

export function kaceFeatures(profile: WorkloadProfile): Featured<KaceFeatures> {
  const { memoryBytes, soloNs } = profile;
  return complete(profile, {
    smBusy: percent(profile.smBusy),
    memoryBusy: percent(profile.memoryBusy),
    memoryGB: memoryBytes === undefined ? undefined : memoryBytes / 1e9,
    smThroughput: percent(overKernels(profile, ({ sm }) => sm)),
    memoryThroughput: percent(overKernels(profile, ({ memory }) => memory)),
    dramThroughput: percent(overKernels(profile, ({ dram }) => dram)),
    threads: overKernels(profile, threads),
    registers: overKernels(profile, (kernel) => times(kernel.registers, threads(kernel))),
    staticSharedBytes: overKernels(profile, ({ staticSharedBytes, grid }) =>
      times(staticSharedBytes, volume(grid)),
    ),
    soloThroughput: soloNs === undefined ? undefined : 1e9 / soloNs,
  });
}

export function kacePair(a: KaceFeatures, b: KaceFeatures): KaceFeatures {
  const pair = (name: KaceName) =>
    kaceMetrics[name] === "raw" ? a[name] + b[name] : (a[name] + b[name]) / 2;
  return Object.fromEntries(kaceNames.map((name) => [name, pair(name)])) as KaceFeatures;
}

export function muxflowFeatures(profile: WorkloadProfile): Featured<MuxflowFeatures> {
  const { smBusy, smActivity, smOccupancy, soloNs } = profile;
  const separateMs = soloNs === undefined ? undefined : soloNs / 1e6;
  return complete(profile, { gpuUtilization: smBusy, smActivity, smOccupancy, separateMs });
}

/** `smShare`: the part of the SMs that the offline workload gets, 0 to 1. */
export const muxflowInput = (
  online: MuxflowFeatures,
  offline: MuxflowFeatures,
  smShare: number,
): readonly number[] => [
  ...muxflowMetrics.map((name) => online[name]),
  ...muxflowMetrics.map((name) => offline[name]),
  smShare,
];

function overKernels(
  { kernels, sequence }: WorkloadProfile,
  of: (kernel: KernelProfile) => number | undefined,
): number | undefined {
  let sum = 0;
  let weights = 0;
  for (const step of sequence) {
    const kernel = "kernel" in step ? kernels[step.kernel] : undefined;
    const value = kernel && of(kernel);
    if (!kernel || value === undefined) continue;
    sum += value * kernel.durationNs.p50;
    weights += kernel.durationNs.p50;
  }
  return weights > 0 ? sum / weights : undefined;
}

const threads = ({ grid, block }: KernelProfile): number => volume(grid) * volume(block);
const percent = (ratio: number | undefined) => times(ratio, 100);
const times = (value: number | undefined, factor: number) =>
  value === undefined ? undefined : value * factor;

function complete<Name extends string>(
  { name, gpu }: WorkloadProfile,
  found: Readonly<Record<Name, number | undefined>>,
): Featured<Readonly<Record<Name, number>>> {
  const lacks = Object.entries(found).flatMap(([metric, value]) =>
    value === undefined ? [metric] : [],
  );
  if (lacks.length > 0) {
    const reason = `The profile of ${name} on ${gpu.name} lacks ${lacks.join(", ")}.`;
    return { ok: false, reason };
  }
  return { ok: true, features: found as Readonly<Record<Name, number>> };
}
