// Prepares a workload profile for a modelled GPU: its steps in flat arrays, with times that add up to what the job
// takes alone. A kernel's time is its p50. If the profile has the time of the whole, the difference is inserted between
// the kernels, as idle time before each, because dependent launches leave such gaps. If the kernels add up to more than
// the whole, as from a profiler that serialises them, they are scaled down.
import {
  type KernelClass,
  type KernelProfile,
  occupancy,
  partsOfSm,
  SM_RESOURCES,
  volume,
  type WorkloadProfile,
} from "#profile";
import { steadyMHz } from "../machine/clock.ts";
import { COMPUTE, DRAM, L2, RESOURCES } from "../machine/contention.ts";
import { emptyProfile, otherGpu } from "../model/errors.ts";
import {
  COPY_IN,
  COPY_OUT,
  expectedCopyNs,
  KERNEL,
  type KernelColumns,
  type Plan,
  type Submission,
} from "../model/plan.ts";
import type { GpuModel, PowerModel } from "../model/presets.ts";
import { splitLengths } from "./lengths.ts";
import { withParts } from "./products.ts";

const classNumber: Readonly<Record<KernelClass, number>> = {
  unknown: 0,
  compute: 1,
  memory: 2,
};

/**
 * The utilisation of kernels whose utilisation is not known, by class. Orion, section 3.2, measured it for Conv2d and
 * BatchNorm. A kernel of unknown class uses less than 60 % of either resource (section 5.2), and is assumed to use half
 * of that.
 */
const typical: Readonly<Record<KernelClass, { sm: number; memory: number }>> = {
  compute: { sm: 0.89, memory: 0.2 },
  memory: { sm: 0.14, memory: 0.8 },
  unknown: { sm: 0.3, memory: 0.3 },
};

/** In a normal distribution, p95 is this many standard deviations above p50. */
const P95_DEVIATIONS = 1.645;

/**
 * `splitProductsUs`: for best-effort jobs, products that take clearly longer are prepared for launches in parts; 0:
 * none are.
 */
export function planOf(
  given: WorkloadProfile,
  gpu: GpuModel,
  submission: Submission,
  splitProductsUs = 0,
): Plan {
  const profile = splitLengths(given);
  const { computeCapability, sms } = gpu.description;
  if (profile.gpu.computeCapability !== computeCapability || profile.gpu.sms !== sms)
    throw otherGpu(profile.name, profile.gpu.name, gpu.description.short);
  const steps = profile.sequence.filter((step) => !("mark" in step));
  if (steps.length === 0) throw emptyProfile(profile.name);
  const length = steps.length;
  const draft = {
    name: profile.name,
    submission,
    length,
    kind: new Uint8Array(length),
    durationNs: new Float64Array(length),
    spread: new Float64Array(length),
    cpuNs: new Float64Array(length),
    bubbleNs: new Float64Array(length),
    bytes: new Float64Array(length),
    units: new Float64Array(length).fill(1),
    perSm: new Float64Array(length).fill(1),
    blockParts: new Float64Array(length * SM_RESOURCES).fill(1),
    need: new Float64Array(length * RESOURCES),
    kernelClass: new Uint8Array(length),
    expectedUs: new Uint32Array(length),
  };
  steps.forEach((step, i) => {
    draft.cpuNs[i] = submission === "graph" && i > 0 ? 0 : gpu.launchNs;
    if ("copy" in step) {
      draft.kind[i] = step.copy === "in" ? COPY_IN : COPY_OUT;
      draft.bytes[i] = step.bytes;
      draft.expectedUs[i] = Math.ceil(expectedCopyNs(step.bytes) / 1000);
    } else if ("kernel" in step) {
      const kernel = profile.kernels[step.kernel];
      if (!kernel) throw new RangeError(`${profile.name}: step ${i} launches no known kernel`);
      fill(draft, i, kernel, computeCapability);
      if (step.gapNs !== undefined && submission === "kernels") draft.cpuNs[i] = step.gapNs;
    }
  });
  const timed = { ...draft, link: gpu.link };
  matchSolo(timed, profile);
  const soloNs = aloneNs(timed, profile.kind === "training");
  const load = meanLoad(draft, soloNs);
  const drawn = gpu.power ? drawnBy(profile, gpu.power, load) : 1;
  return {
    ...withParts(draft, profile, gpu, splitProductsUs),
    drawn,
    graphUs: draft.expectedUs.reduce((sum, us) => sum + us, 0),
    backwardAt: backwardAt(profile),
    soloNs,
    // If the profile does not say at which clock it was measured: the clock at which the job settles when it runs
    // without pause.
    referenceMHz:
      gpu.power && (profile.smClockMHz ?? steadyMHz(gpu.power, drawn * load.compute, load.dram)),
  };
}

function backwardAt({ sequence }: WorkloadProfile): number | undefined {
  const mark = sequence.findIndex((step) => "mark" in step && step.mark === "backward");
  const before = sequence.slice(0, Math.max(0, mark)).filter((step) => !("mark" in step)).length;
  return before > 0 ? before : undefined;
}

/** The load of the job without pause, relative to the peaks. */
function meanLoad(draft: KernelColumns, soloNs: number) {
  const mean = (resource: number) =>
    draft.durationNs.reduce(
      (sum, ns, i) => sum + (ns / soloNs) * (draft.need[i * RESOURCES + resource] ?? 0),
      0,
    );
  return { compute: mean(COMPUTE), dram: mean(DRAM) };
}

/**
 * The power of the job's compute, relative to that of an equally large bf16 matrix load in the model. fp32 in the
 * ordinary pipes uses less. It is computed from the power of a job that runs without pause, if the profile has it.
 */
function drawnBy(
  { kind, powerW, smClockMHz }: WorkloadProfile,
  { idleW, fullW, dramPart, maxMHz, exponent }: PowerModel,
  { compute, dram }: { readonly compute: number; readonly dram: number },
): number {
  if (kind !== "training" || powerW === undefined || compute === 0) return 1;
  const clock = ((smClockMHz ?? maxMHz) / maxMHz) ** exponent;
  return Math.max(0.1, ((powerW - idleW) / (fullW * clock) - dramPart * dram) / compute);
}

function fill(draft: KernelColumns, i: number, kernel: KernelProfile, capability: string): void {
  const { p50, p95 } = kernel.durationNs;
  draft.durationNs[i] = Math.max(1, p50);
  draft.spread[i] = p95 > p50 && p50 > 0 ? Math.log(p95 / p50) / P95_DEVIATIONS : 0;
  fillPlaces(draft, i, kernel, capability);
  const known = typical[kernel.class];
  const memory = kernel.memory ?? kernel.dram ?? known.memory;
  draft.need[i * RESOURCES + COMPUTE] = kernel.sm ?? known.sm;
  draft.need[i * RESOURCES + DRAM] = kernel.dram ?? memory;
  // The busiest part of the memory system may be the L1, so this is an upper bound for the L2.
  draft.need[i * RESOURCES + L2] = memory;
  draft.kernelClass[i] = classNumber[kernel.class];
  draft.expectedUs[i] = Math.max(1, Math.ceil(Math.max(p50, p95) / 1000));
}

/**
 * If the profile's number of SMs differs from what the kernel's blocks need, the profile's number is used. Blocks of
 * other kernels then do not fit beside them.
 */
function fillPlaces(
  draft: KernelColumns,
  i: number,
  kernel: KernelProfile,
  capability: string,
): void {
  const blocks = volume(kernel.grid);
  const fit = Math.max(1, occupancy(capability, kernel).blocksPerSm);
  const known = Math.ceil(blocks / fit) === kernel.smsNeeded;
  const perSm = known ? fit : Math.max(1, Math.round(blocks / kernel.smsNeeded));
  const parts = partsOfSm(capability, kernel);
  draft.perSm[i] = perSm;
  draft.units[i] = known ? blocks / fit : kernel.smsNeeded;
  for (let r = 0; r < SM_RESOURCES; r++)
    draft.blockParts[i * SM_RESOURCES + r] = known ? (parts[r] ?? 1) : 1 / perSm;
}

type Timed = Pick<Plan, "durationNs" | "cpuNs" | "bubbleNs" | "kind" | "bytes" | "length"> &
  Pick<GpuModel, "link">;

/** The relative rounding error of a sum of thousands of times. */
const ROUNDING = 1e-9;

/** Changes the times so that the whole takes as long as the profile says, as far as that is possible. */
function matchSolo(timed: Timed, profile: WorkloadProfile): void {
  const solo = profile.soloNs;
  if (solo === undefined || solo <= 0) return;
  const closed = profile.kind === "training";
  const kernels = timed.durationNs.reduce((sum, ns) => sum + ns, 0);
  const copies = timed.bytes.reduce((sum, _, i) => sum + copyNs(timed, i), 0);
  if (kernels + copies > solo && kernels > 0)
    scaleInPlace(timed.durationNs, Math.max(0.01, solo - copies) / kernels);
  const launching = timed.cpuNs.reduce((sum, ns) => sum + ns, 0);
  const allowed = solo * (1 + ROUNDING);
  if (aloneNs(timed, closed) > allowed || launching > Math.min(kernels + copies, solo)) {
    // Launching takes most of the time. The profile's gaps are less reliable than its time for the whole.
    const most = Math.max(1, solo / launching);
    const part = root(
      (x) => aloneNs({ ...timed, cpuNs: scale(timed.cpuNs, x * most) }, closed) - allowed,
    );
    scaleInPlace(timed.cpuNs, part * most);
    return;
  }
  // With this much before each step, the gaps alone would fill the whole time.
  const most = solo / timed.length;
  const part = root((x) => aloneNs(withBubbles(timed, x * most), closed) - solo);
  timed.bubbleNs.fill(part * most);
}

const withBubbles = (timed: Timed, ns: number): Timed => ({
  ...timed,
  bubbleNs: new Float64Array(timed.length).fill(ns),
});
const scale = (of: Float64Array, by: number) => of.map((ns) => ns * by);
const scaleInPlace = (of: Float64Array, by: number) => of.set(scale(of, by));

/** The root of a growing function on 0 to 1, by bisection; 1 if the function stays below zero. */
function root(of: (x: number) => number): number {
  let low = 0;
  let high = 1;
  for (let i = 0; i < 50; i++) {
    const middle = (low + high) / 2;
    if (of(middle) < 0) low = middle;
    else high = middle;
  }
  return high;
}

const copyNs = ({ kind, bytes, link }: Timed, i: number): number =>
  kind[i] === KERNEL ? 0 : link.latencyNs + ((bytes[i] ?? 0) / link.bytesPerSecond) * 1e9;

/** The time of one request from its first launch to its end. In a closed loop, the time of one iteration among many. */
function aloneNs(timed: Timed, closed: boolean): number {
  const { durationNs, cpuNs, bubbleNs, length } = timed;
  let cpu = 0;
  let gpu = 0;
  for (let i = 0; i < length; i++) {
    cpu += cpuNs[i] ?? 0;
    const from = closed ? gpu : Math.max(cpu, gpu);
    gpu = from + (bubbleNs[i] ?? 0) + (durationNs[i] ?? 0) + copyNs(timed, i);
  }
  return closed ? Math.max(cpu, gpu) : gpu;
}
