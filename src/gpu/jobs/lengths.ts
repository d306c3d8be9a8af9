// What a profile has as one kernel may be several: products of one size and another depth run the same kernel on the same grid,
// and so do layers of other shapes. Such a kernel's p95 lies far above its p50, and both are times that it takes again and again,
// each at its own places of the sequence.
import type { KernelProfile, WorkloadProfile } from "#profile";

/** From here on p50 and p95 are of different work. */
const FAR = 2;
/**
 * So many launches to one long one. It is 2 at least and 20 at most, or p50 and p95 would be others; of BERT-large's layers, which
 * are known, four such products are as deep as the model is wide and one four times that.
 */
const EVERY = 5;

/** The profile with a kernel each for the short and the long launches of those. */
export function apart(profile: WorkloadProfile): WorkloadProfile {
  const launches = new Map<number, number>();
  for (const step of profile.sequence)
    if ("kernel" in step) launches.set(step.kernel, (launches.get(step.kernel) ?? 0) + 1);
  const kernels: KernelProfile[] = [...profile.kernels];
  const longer = new Map<number, number>();
  profile.kernels.forEach((kernel, i) => {
    const { p50, p95 } = kernel.durationNs;
    if ((launches.get(i) ?? 0) < EVERY || p95 < FAR * p50) return;
    kernels[i] = { ...kernel, durationNs: { p50, p95: p50 } };
    longer.set(i, kernels.push({ ...kernel, durationNs: { p50: p95, p95 } }) - 1);
  });
  if (longer.size === 0) return profile;
  const seen = new Map<number, number>();
  const sequence = profile.sequence.map((step) => {
    const long = "kernel" in step ? longer.get(step.kernel) : undefined;
    if (!("kernel" in step) || long === undefined) return step;
    const before = seen.get(step.kernel) ?? 0;
    seen.set(step.kernel, before + 1);
    return before % EVERY === EVERY >> 1 ? { ...step, kernel: long } : step;
  });
  return { ...profile, kernels, sequence };
}
