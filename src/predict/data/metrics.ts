// These include the metrics of KACE (SoCC'24, section 3.1), MuxFlow (2023, section 5) and Xu et al.
// (HotCloud'19, as KACE section 4 rebuilds it), so that a model of each can be learned from one
// table. The last group needs no counters.
import { kaceFeatures, type WorkloadProfile } from "#profile";

type Combined = "sum" | "mean";

interface Metric {
  readonly unit: string;
  readonly combined: Combined;
}

const raw = (unit: string): Metric => ({ unit, combined: "sum" });
const percentage: Metric = { unit: "%", combined: "mean" };
const part: Metric = { unit: "0 to 1", combined: "mean" };

const table = {
  smBusy: percentage,
  memoryBusy: percentage,
  memoryGB: raw("GB"),
  smThroughput: percentage,
  memoryThroughput: percentage,
  dramThroughput: percentage,
  threads: raw("a launch"),
  registers: raw("a launch"),
  staticSharedBytes: raw("bytes a launch"),
  soloThroughput: raw("requests or iterations a second"),

  smActivity: part,
  smOccupancy: part,

  pcieRead: raw("GB/s"),
  pcieWrite: raw("GB/s"),
  longKernels: raw("us"),
  kernelLength: raw("us"),
  longShortRatio: raw("long kernels a short one"),
  meanThreads: raw("a launch"),
  cpuBusy: percentage,
  mainMemory: percentage,

  kernelUs: raw("us, mean weighted by duration"),
  smsFilled: part,
  kernelShare: part,
  kernelsPerMs: raw("kernels a ms"),
  blockWaitUs: raw("us, from any moment until a running block ends, 0 where SMs are free"),
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricName = keyof typeof table;

export type Features = Readonly<Partial<Record<MetricName, number>>>;

export const metricNames = Object.keys(table) as readonly MetricName[];

export const isMetric = (name: string): name is MetricName => Object.hasOwn(table, name);
export const isRaw = (name: MetricName): boolean => table[name].combined === "sum";
export const unitOf = (name: MetricName): string => table[name].unit;

export function combineMetrics(name: MetricName, values: readonly number[]): number {
  const sum = values.reduce((total, value) => total + value, 0);
  return isRaw(name) ? sum : sum / values.length;
}

export const xuMetrics = [
  "pcieRead",
  "pcieWrite",
  "longKernels",
  "kernelLength",
  "longShortRatio",
  "meanThreads",
  "smBusy",
  "memoryBusy",
  "cpuBusy",
  "mainMemory",
] as const satisfies readonly MetricName[];

/** Recordings have no counters. */
export function profileFeatures(profile: WorkloadProfile): Features {
  const found = { ...kaceOf(profile), ...activityOf(profile), ...launchesOf(profile) };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => Number.isFinite(value)));
}

function kaceOf(profile: WorkloadProfile): Features {
  const lacks = (name: "sm" | "memory" | "dram" | "registers" | "staticSharedBytes") =>
    profile.kernels.every((kernel) => kernel[name] === undefined) ? { [name]: Number.NaN } : {};
  const missing = {
    ...lacks("sm"),
    ...lacks("memory"),
    ...lacks("dram"),
    ...lacks("registers"),
    ...lacks("staticSharedBytes"),
  };
  const filled = kaceFeatures({
    ...profile,
    smBusy: profile.smBusy ?? Number.NaN,
    memoryBusy: profile.memoryBusy ?? Number.NaN,
    memoryBytes: profile.memoryBytes ?? Number.NaN,
    soloNs: profile.soloNs ?? Number.NaN,
    kernels: profile.kernels.map((kernel) => ({ ...kernel, ...missing })),
  });
  return filled.ok ? filled.features : {};
}

const activityOf = ({ smActivity, smOccupancy }: WorkloadProfile): Features => ({
  smActivity: smActivity ?? Number.NaN,
  smOccupancy: smOccupancy ?? Number.NaN,
});

/**
 * A newcomer waits for half of a block's duration if the kernel fills the SMs. A kernel with w
 * waves of blocks has blocks of a w-th of its own duration.
 */
function launchesOf({ kernels, sequence, gpu, soloNs = Number.NaN }: WorkloadProfile): Features {
  let ns = 0;
  let lengths = 0;
  let filled = 0;
  let rests = 0;
  let count = 0;
  for (const step of sequence) {
    const kernel = "kernel" in step ? kernels[step.kernel] : undefined;
    if (!kernel) continue;
    const duration = kernel.durationNs.p50;
    // At full occupancy the kernel needs `smsNeeded` SMs, and the GPU has `gpu.sms`.
    const waves = Math.max(1, kernel.smsNeeded / gpu.sms);
    const fills = Math.min(1, kernel.smsNeeded / gpu.sms);
    count++;
    ns += duration;
    lengths += duration * duration;
    filled += duration * fills;
    rests += (duration * fills * (duration / waves)) / 2;
  }
  // Kernels that overlap, or were timed one by one, add up to more than the whole.
  const shorter = Math.min(1, soloNs / ns);
  return {
    kernelUs: lengths / ns / 1000,
    smsFilled: filled / ns,
    kernelShare: Math.min(1, ns / soloNs),
    kernelsPerMs: (count / soloNs) * 1e6,
    blockWaitUs: (rests * shorter * shorter) / soloNs / 1000,
  };
}
