// A job's steps in flat arrays, as the modelled GPU runs them. planning.ts makes them from a profile.

export const KERNEL = 0;
export const COPY_IN = 1;
export const COPY_OUT = 2;

/** How a job submits its work: by single launches, or as one graph for each request. */
export type Submission = "kernels" | "graph";

/** The number of equal pieces of a copy. The interposer's last piece is shorter instead (calls/copies.h). */
export const piecesOf = (bytes: number, pieceBytes: number): number =>
  Math.max(1, Math.ceil(bytes / pieceBytes));

/**
 * Like copy_ns() of native/interposer/calls/copies.h, which gives the reasons. It is written twice because a call of
 * the gate's library would be longer than the formula.
 */
export const expectedCopyNs = (bytes: number): number => 2000 + bytes / 20;

export interface Plan {
  readonly name: string;
  readonly submission: Submission;
  /**
   * The number of steps. The arrays are longer: behind the steps they hold the parts in which products may be launched.
   */
  readonly length: number;
  /** For a product that can be divided: the index of its first part, and the number of parts; otherwise 0. */
  readonly partsFrom: Int32Array;
  readonly partCount: Int32Array;
  /** KERNEL, COPY_IN, COPY_OUT */
  readonly kind: Uint8Array;
  /** Duration of a kernel alone. */
  readonly durationNs: Float64Array;
  /** Standard deviation of the logarithm of a kernel's duration. */
  readonly spread: Float64Array;
  /** CPU time of the launch. */
  readonly cpuNs: Float64Array;
  /** Idle time of the GPU before the step. */
  readonly bubbleNs: Float64Array;
  readonly bytes: Float64Array;
  /** SMs that all blocks at once would fill. */
  readonly units: Float64Array;
  /** Blocks that an SM holds at once. */
  readonly perSm: Float64Array;
  /** The part of an SM's resources that one block takes, SM_RESOURCES each; see partsOfSm of #profile. */
  readonly blockParts: Float64Array;
  /** Compute, DRAM and L2 of each step: the part of the peak that it uses alone. */
  readonly need: Float64Array;
  readonly kernelClass: Uint8Array;
  /** The p95. The gate of a best-effort client decides with it. */
  readonly expectedUs: Uint32Array;
  readonly graphUs: number;
  /** The step with which a training's backward pass begins; undefined if the profile has no such mark. */
  readonly backwardAt: number | undefined;
  /** Alone: the latency of a request, or the time of an iteration in a closed loop. */
  readonly soloNs: number;
  /** The power of its compute, relative to that of a bf16 matrix load. */
  readonly drawn: number;
  /** The SM clock at which the times hold; undefined if the clock is not modelled. */
  readonly referenceMHz: number | undefined;
}

/** The columns that follow from a kernel alone. */
export type KernelColumns = Pick<
  Plan,
  | "durationNs"
  | "spread"
  | "units"
  | "perSm"
  | "blockParts"
  | "need"
  | "kernelClass"
  | "expectedUs"
  | "kind"
>;
