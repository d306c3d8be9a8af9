// A profile made of two measurements: an interposer's recording knows how long each kernel takes in the job
// itself and in which order they run; Nsight Compute knows how busy each one keeps the SMs and the memory.
// Order and gaps are the recording's, utilisation and class the samples'.
//
// Both err on the long side about a duration: the events around a launch take in what it takes to launch when
// the stream had nothing else to do (some 5 us on an H200), and Nsight Compute empties the caches before each
// kernel. So of a kernel that is launched by itself the shorter of both is taken. Kernels of a graph stay: theirs
// were made to add up to the graph's time.
import { badProfile } from "../errors.ts";
import type { KernelProfile, WorkloadProfile } from "../types.ts";

/**
 * The profile with what was sampled of its kernels, found by name and shape; of several samples of one shape
 * the one with the same dynamic shared memory goes first. A kernel without a sample stays as it is. Throws a
 * UserError when the samples are from another GPU. `file`: where they are, for that sentence.
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

/** Kernels before most of whose launches there is CPU time: within a graph there is none. */
function launchedAlone({ sequence }: WorkloadProfile): ReadonlySet<number> {
  const balance = new Map<number, number>();
  for (const step of sequence)
    if ("kernel" in step)
      balance.set(step.kernel, (balance.get(step.kernel) ?? 0) + (step.gapNs ? 1 : -1));
  return new Set([...balance].flatMap(([kernel, gaps]) => (gaps > 0 ? [kernel] : [])));
}

/** What is too much of the median is too much of the others as well. */
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

/** Kernels that no sample told anything of. */
export const unsampled = ({ kernels }: WorkloadProfile): readonly KernelProfile[] =>
  kernels.filter((kernel) => kernel.sm === undefined && kernel.memory === undefined);
