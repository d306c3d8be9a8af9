// A job's demands on a GPU, measured alone: its kernels, and the order in which it launches them. Importers write
// profiles and the store keeps them as JSON. The modelled GPU, the predictors and the gate's rules for single kernels
// read them. Ratios and utilisations are 0 to 1, times ns, sizes bytes, unless a name says otherwise.

/** The resource that limits a kernel (Orion, section 5.2); unknown if neither does. */
export const kernelClasses = ["compute", "memory", "unknown"] as const;
export type KernelClass = (typeof kernelClasses)[number];

export type Dim3 = readonly [x: number, y: number, z: number];

/** One kernel in one launch shape. */
export interface KernelProfile {
  readonly name: string;
  readonly grid: Dim3;
  readonly block: Dim3;
  /** Registers of a thread. */
  readonly registers?: number;
  readonly staticSharedBytes?: number;
  readonly dynamicSharedBytes?: number;
  readonly durationNs: { readonly p50: number; readonly p95: number };
  /** ceil(blocks / blocks per SM): the SMs that all blocks at once would fill, which may be more than the GPU has. */
  readonly smsNeeded: number;
  /** Compute throughput, as a part of its peak. */
  readonly sm?: number;
  /** Throughput of the busiest part of the memory system, as a part of its peak. */
  readonly memory?: number;
  readonly dram?: number;
  readonly l2Hit?: number;
  readonly class: KernelClass;
}

export const workloadKinds = ["inference", "training"] as const;
export type WorkloadKind = (typeof workloadKinds)[number];

export const copyDirections = ["in", "out"] as const;
/** `in`: to the GPU. */
export type CopyDirection = (typeof copyDirections)[number];

export const marks = ["forward", "backward", "optimizer"] as const;
/** The phase of a training iteration that begins at a step. */
export type Mark = (typeof marks)[number];

export type Step =
  /** A launch of `kernels[kernel]`, `gapNs` of CPU time after the launch before it. */
  | { readonly kernel: number; readonly gapNs?: number }
  | { readonly copy: CopyDirection; readonly bytes: number }
  | { readonly mark: Mark };

/** Measurements of the whole job, as means over a solo run. */
export interface SystemMetrics {
  readonly memoryBytes?: number;
  /** Part of the time in which a kernel ran: NVML's GPU utilisation. */
  readonly smBusy?: number;
  /** Part of the time in which memory was read or written: NVML's memory utilisation. */
  readonly memoryBusy?: number;
  /** Part of the SMs with a warp, averaged over time: GPM or DCGM. */
  readonly smActivity?: number;
  /** Resident warps, as a part of those that an SM can hold. */
  readonly smOccupancy?: number;
  readonly dramActivity?: number;
  readonly powerW?: number;
  readonly smClockMHz?: number;
}

export interface ProfiledGpu {
  readonly name: string;
  /** Such as "9.0". */
  readonly computeCapability: string;
  readonly sms: number;
}

export interface WorkloadProfile extends SystemMetrics {
  readonly version: 1;
  readonly name: string;
  readonly kind: WorkloadKind;
  readonly gpu: ProfiledGpu;
  /** How it was made: command, file, commit. */
  readonly source: string;
  /** Latency of a request or time of an iteration, alone. */
  readonly soloNs: number | undefined;
  /** Distinct ones. */
  readonly kernels: readonly KernelProfile[];
  /** One request or iteration, in launch order. */
  readonly sequence: readonly Step[];
}
