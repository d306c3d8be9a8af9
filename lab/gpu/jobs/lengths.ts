// One kernel of a profile may do several kinds of work. Matrix products of equal size and different depth run the same
// kernel on the same grid, and so do layers of different shapes. The p95 of such a kernel is far above its p50. Both
// are typical durations, each at certain places of the sequence.
import type { KernelProfile, WorkloadProfile } from "#profile";

/** From this ratio of p95 to p50 on, the two count as durations of different work. */
const FAR = 2;
/**
 * One launch of this number is long. The number is between 2 and 20, because otherwise p50 and p95 would be
 * different. In BERT-large's layers, which are known, four such products are as deep as the model is wide, and one is
 * four times as deep.
 */
const EVERY = 5;

/** The profile with two kernels in place of each such kernel: one for its short launches and one for its long ones. */
export function splitLengths(profile: WorkloadProfile): WorkloadProfile {
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
