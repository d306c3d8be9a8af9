import type { KernelProfile, WorkloadProfile } from "./types.ts";

export function launchesOf({ kernels, sequence }: WorkloadProfile): number[] {
  const counts = kernels.map(() => 0);
  for (const step of sequence)
    if ("kernel" in step) counts[step.kernel] = (counts[step.kernel] ?? 0) + 1;
  return counts;
}

export interface ProfileSummary {
  readonly name: string;
  readonly kind: WorkloadProfile["kind"];
  readonly gpu: string;
  readonly launches: number;
  readonly distinct: number;
  readonly kernelNs: number;
  readonly soloNs: number | undefined;
  readonly sms: number;
  readonly smsOfGpu: number;
  readonly classes: Readonly<Record<KernelProfile["class"], number>>;
}

export function summaryOf(profile: WorkloadProfile): ProfileSummary {
  const { name, kind, gpu, kernels, soloNs } = profile;
  const counts = launchesOf(profile);
  const timed = kernels.map((kernel, i) => ({
    kernel,
    ns: (counts[i] ?? 0) * kernel.durationNs.p50,
  }));
  const sum = (of: (one: (typeof timed)[number]) => number) =>
    timed.reduce((total, one) => total + of(one), 0);
  const kernelNs = sum(({ ns }) => ns);
  const part = (of: KernelProfile["class"]) =>
    kernelNs === 0 ? 0 : sum(({ kernel, ns }) => (kernel.class === of ? ns : 0)) / kernelNs;
  return {
    name,
    kind,
    gpu: gpu.name,
    launches: counts.reduce((total, count) => total + count, 0),
    distinct: kernels.length,
    kernelNs,
    soloNs,
    sms:
      kernelNs === 0
        ? 0
        : sum(({ kernel, ns }) => ns * Math.min(kernel.smsNeeded, gpu.sms)) / kernelNs,
    smsOfGpu: gpu.sms,
    classes: { compute: part("compute"), memory: part("memory"), unknown: part("unknown") },
  };
}
