// Refuses profiles that cannot be true or are too short or long to be modelled.
import { usage } from "#core";
import { type GpuModel, planOf } from "#gpu";
import { type KernelProfile, occupancy, volume, type WorkloadProfile } from "#profile";

/** The shortest request or iteration that is modelled, alone. */
const SHORTEST_NS = 10_000;
/**
 * Kernels may run side by side, and some profilers run them one by one: ResNet50 as a graph takes half of the sum of its
 * kernels (bench/profiles/h200). More than this many at once is taken for a mistake.
 */
const MAX_CONCURRENT = 8;

/** Throws a UserError. `longestNs`: of a request or iteration alone. */
export function checkPlausible(profile: WorkloadProfile, gpu: GpuModel, longestNs: number): void {
  const { name, kernels, sequence } = profile;
  const sumNs = sequence.reduce(
    (sum, step) => sum + ("kernel" in step ? (kernels[step.kernel]?.durationNs.p50 ?? 0) : 0),
    0,
  );
  if (profile.soloNs !== undefined && sumNs > MAX_CONCURRENT * profile.soloNs)
    throw usage(
      `The profile ${name} contradicts itself: its kernels add up to ${milliseconds(sumNs)}, and all of it takes ${milliseconds(profile.soloNs)} alone (soloNs).`,
      "Profile it again, or leave soloNs out.",
    );
  for (const kernel of kernels) checkPlaces(name, kernel, gpu);
  const { soloNs } = planOf(profile, gpu, "kernels");
  if (soloNs >= SHORTEST_NS && soloNs <= longestNs) return;
  throw usage(
    `The profile ${name} takes ${soloNs.toPrecision(3)} ns alone: what is modelled takes from ${SHORTEST_NS / 1000} us to ${longestNs / 1e9} s.`,
    "Check its durations and soloNs.",
  );
}

/**
 * Checks that so many blocks and threads have at least the SMs that they need, whatever their registers and shared
 * memory.
 */
function checkPlaces(
  name: string,
  { name: kernel, grid, block, smsNeeded }: KernelProfile,
  { description }: GpuModel,
): void {
  const blocks = volume(grid);
  const fit = Math.max(1, occupancy(description.computeCapability, { block }).blocksPerSm);
  const least = Math.min(description.sms, Math.ceil(blocks / fit));
  if (smsNeeded >= least && smsNeeded <= blocks) return;
  throw usage(
    `The profile ${name} contradicts itself: ${kernel} has ${blocks} blocks of ${volume(block)} threads, which need ${least} to ${blocks} SMs, and smsNeeded is ${smsNeeded}.`,
    "Profile it again, or correct smsNeeded.",
  );
}

const milliseconds = (ns: number): string => `${(ns / 1e6).toPrecision(3)} ms`;
