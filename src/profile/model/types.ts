// Ratios and utilisations are 0 to 1, times ns, sizes bytes, unless a name says otherwise.

/** Orion, section 5.2; unknown if neither limits the kernel. */
export const kernelClasses = ["compute", "memory", "unknown"] as const;
export type KernelClass = (typeof kernelClasses)[number];

export type Dim3 = readonly [x: number, y: number, z: number];

export interface KernelProfile {
  readonly name: string;
  readonly grid: Dim3;
  readonly block: Dim3;
  readonly registers?: number;
  readonly staticSharedBytes?: number;
  readonly dynamicSharedBytes?: number;
  readonly durationNs: { readonly p50: number; readonly p95: number };
  /**
   * ceil(blocks
   *
   * blocks per SM), which may be more than the GPU has.
   */
  readonly smsNeeded: number;
  readonly sm?: number;
  /** It is the throughput of the busiest part of the memory system, as a part of its peak. */
  readonly memory?: number;
  readonly dram?: number;
  readonly l2Hit?: number;
  readonly class: KernelClass;
}

export const workloadKinds = ["inference", "training"] as const;
export type WorkloadKind = (typeof workloadKinds)[number];

export const copyDirections = ["in", "out"] as const;
/** `in` goes to the GPU. */
export type CopyDirection = (typeof copyDirections)[number];

export const marks = ["forward", "backward", "optimizer"] as const;
export type Mark = (typeof marks)[number];

export type Step =
  /** It launches `kernels[kernel]`, `gapNs` of CPU time after the launch before it. */
  | { readonly kernel: number; readonly gapNs?: number }
  | { readonly copy: CopyDirection; readonly bytes: number }
  | { readonly mark: Mark };

export interface SystemMetrics {
  readonly memoryBytes?: number;
  /** It is the part of the time in which a kernel ran: NVML's GPU utilisation. */
  readonly smBusy?: number;
  /** It is the part of the time in which memory was read or written (NVML's memory utilisation). */
  readonly memoryBusy?: number;
  /** It is the part of the SMs with a warp, averaged over time: GPM or DCGM. */
  readonly smActivity?: number;
  readonly smOccupancy?: number;
  readonly dramActivity?: number;
  readonly powerW?: number;
  readonly smClockMHz?: number;
}

export interface ProfiledGpu {
  readonly name: string;
  readonly computeCapability: string;
  readonly sms: number;
}

export interface WorkloadProfile extends SystemMetrics {
  readonly version: 1;
  readonly name: string;
  readonly kind: WorkloadKind;
  readonly gpu: ProfiledGpu;
  readonly source: string;
  readonly soloNs: number | undefined;
  readonly kernels: readonly KernelProfile[];
  /** It is one request or iteration, in launch order. */
  readonly sequence: readonly Step[];
}
