// A recording gives order, gaps and times in the job itself, Nsight Compute utilisation and class.
// Both durations are rather too long: events around a launch include launching if the stream was
// empty (some 5 us on an H200), and Nsight Compute empties the caches. So the shorter one is taken.
// Kernels of a graph keep theirs, which add up to the graph's time.
import { badProfile } from "../model/errors.ts";
import type { KernelProfile, WorkloadProfile } from "../model/types.ts";

/**
 * Samples are found by name and shape; one with the same dynamic shared memory is preferred. Throws
 * a UserError that names `file` if the samples are from another GPU.
 */
export function withUtilisation(
  profile: WorkloadProfile,
  samples: WorkloadProfile,
  file: string,
): WorkloadProfile {
  if (samples.gpu.name !== profile.gpu.name)
    throw badProfile(
      file,
      "",
      `it was sampled on ${samples.gpu.name}, but the profile is of ${profile.gpu.name}.`,
    );
  const found = new Map<string, KernelProfile[]>();
  for (const sample of samples.kernels)
    found.set(keyOf(sample), [...(found.get(keyOf(sample)) ?? []), sample]);
  const alone = launchedAlone(profile);
  return {
    ...profile,
    kernels: profile.kernels.map((kernel, i) => {
      const sample = sampleOf(kernel, found.get(keyOf(kernel)) ?? []);
      if (!sample) return kernel;
      const sampled = withFigures(kernel, sample);
      return alone.has(i) ? { ...sampled, durationNs: shorter(kernel, sample) } : sampled;
    }),
  };
}

/** These have CPU time before most of their launches. Within a graph there is none. */
function launchedAlone({ sequence }: WorkloadProfile): ReadonlySet<number> {
  const balance = new Map<number, number>();
  for (const step of sequence)
    if ("kernel" in step)
      balance.set(step.kernel, (balance.get(step.kernel) ?? 0) + (step.gapNs ? 1 : -1));
  return new Set([...balance].flatMap(([kernel, gaps]) => (gaps > 0 ? [kernel] : [])));
}

function shorter(recorded: KernelProfile, sampled: KernelProfile): KernelProfile["durationNs"] {
  const p50 = Math.min(recorded.durationNs.p50, sampled.durationNs.p50);
  return { p50, p95: Math.max(p50, recorded.durationNs.p95 - (recorded.durationNs.p50 - p50)) };
}

const keyOf = ({ name, grid, block }: KernelProfile): string => `${grid} ${block} ${name}`;

const sampleOf = (kernel: KernelProfile, samples: readonly KernelProfile[]) =>
  samples.find(({ dynamicSharedBytes }) => dynamicSharedBytes === kernel.dynamicSharedBytes) ??
  samples[0];

function withFigures(kernel: KernelProfile, sample: KernelProfile): KernelProfile {
  const { sm, memory, dram, l2Hit, class: kernelClass } = sample;
  return {
    ...kernel,
    ...(sm !== undefined && { sm }),
    ...(memory !== undefined && { memory }),
    ...(dram !== undefined && { dram }),
    ...(l2Hit !== undefined && { l2Hit }),
    class: kernelClass,
  };
}

export const withoutSamples = ({ kernels }: WorkloadProfile): readonly KernelProfile[] =>
  kernels.filter((kernel) => kernel.sm === undefined && kernel.memory === undefined);
