// A workload profile made ready to run on a modelled GPU: its steps in flat arrays, with times that add up to
// what the job takes alone. A kernel's time is its p50. Where the profile says what the whole takes, the
// difference is put between the kernels (idle GPU before each, as dependent launches leave it); kernels that
// sum to more than the whole (a serialising profiler) are scaled down.
import {
  type KernelClass,
  type KernelProfile,
  occupancy,
  partsOfSm,
  SM_RESOURCES,
  volume,
  type WorkloadProfile,
} from "#profile";
import { emptyProfile, otherGpu } from "../errors.ts";
import { steadyMHz } from "../machine/clock.ts";
import { COMPUTE, DRAM, L2, RESOURCES } from "../machine/contention.ts";
import {
  COPY_IN,
  COPY_OUT,
  expectedCopyNs,
  KERNEL,
  type KernelColumns,
  type Plan,
  type Submission,
} from "../plan.ts";
import type { GpuModel, PowerModel } from "../presets.ts";
import { splitLengths } from "./lengths.ts";
import { withParts } from "./products.ts";

const classNumber: Readonly<Record<KernelClass, number>> = {
  unknown: 0,
  compute: 1,
  memory: 2,
};

/**
 * The utilisation of kernels for which it is not known, by class. Orion, section 3.2, measured it for Conv2d and
 * BatchNorm. An unknown kernel has less than 60 % of either (section 5.2), and is assumed to have half of that.
 */
const typical: Readonly<Record<KernelClass, { sm: number; memory: number }>> = {
  compute: { sm: 0.89, memory: 0.2 },
  memory: { sm: 0.14, memory: 0.8 },
  unknown: { sm: 0.3, memory: 0.3 },
};

/** In a normal distribution, p95 is so many standard deviations above p50. */
const P95_DEVIATIONS = 1.645;

/**
 * `splitProductsUs`: best-effort, products that take clearly longer are prepared to be launched in parts; 0: none
 * are.
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
    // Where a profile does not say at which clock it holds: the one that the job, without pause, settles at.
    referenceMHz:
      gpu.power && (profile.smClockMHz ?? steadyMHz(gpu.power, drawn * load.compute, load.dram)),
  };
}

function backwardAt({ sequence }: WorkloadProfile): number | undefined {
  const mark = sequence.findIndex((step) => "mark" in step && step.mark === "backward");
  const before = sequence.slice(0, Math.max(0, mark)).filter((step) => !("mark" in step)).length;
  return before > 0 ? before : undefined;
}

/** Of the job, without pause: parts of the peaks. */
function meanLoad(draft: KernelColumns, soloNs: number) {
  const mean = (resource: number) =>
    draft.durationNs.reduce(
      (sum, ns, i) => sum + (ns / soloNs) * (draft.need[i * RESOURCES + resource] ?? 0),
      0,
    );
  return { compute: mean(COMPUTE), dram: mean(DRAM) };
}

/**
 * What the job's compute draws, of what the model says that as much of a bf16 matrix load draws: fp32 in the
 * ordinary pipes draws less. From the power of a job that runs without pause, where its profile has that.
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
  // The busiest part of the memory system may be the L1: an upper bound of what the L2 does.
  draft.need[i * RESOURCES + L2] = memory;
  draft.kernelClass[i] = classNumber[kernel.class];
  draft.expectedUs[i] = Math.max(1, Math.ceil(Math.max(p50, p95) / 1000));
}

/**
 * If the profile's number of SMs differs from what the kernel's blocks need, the profile's number is used. Then
 * blocks of other kernels do not fit beside them.
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

/** Of a sum of thousands of times, relative. */
const ROUNDING = 1e-9;

/** Changes the times so that the whole takes what the profile says, as far as possible. */
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
    // Launching is what takes so long; given gaps are believed less than the whole.
    const most = Math.max(1, solo / launching);
    const part = root(
      (x) => aloneNs({ ...timed, cpuNs: scale(timed.cpuNs, x * most) }, closed) - allowed,
    );
    scaleInPlace(timed.cpuNs, part * most);
    return;
  }
  // So much before each step would be the whole alone.
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

/** Of a growing function on 0 to 1, by halving; 1 where it stays below zero. */
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

/** One request from its first launch to its end; of a closed loop, one iteration among many. */
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
