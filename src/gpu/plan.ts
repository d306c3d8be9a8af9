// A job's steps in flat arrays, as the modelled GPU runs them. planning.ts makes them from a profile.

export const KERNEL = 0;
export const COPY_IN = 1;
export const COPY_OUT = 2;

/** How a job submits its work: by single launches, or as one graph for each request. */
export type Submission = "kernels" | "graph";

/** Entries of a copy that goes in pieces. The interposer's last piece is shorter instead (calls/copies.h). */
export const piecesOf = (bytes: number, pieceBytes: number): number =>
  Math.max(1, Math.ceil(bytes / pieceBytes));

/**
 * As copy_ns() of native/interposer/calls/copies.h, which says why. It stands twice because a call of the gate's
 * library would be longer than the formula.
 */
export const expectedCopyNs = (bytes: number): number => 2000 + bytes / 20;

export interface Plan {
  readonly name: string;
  readonly submission: Submission;
  /**
   * Steps in order. What is kept of each goes on behind them: there are the parts that a product may be launched in.
   */
  readonly length: number;
  /** Of a product that can be divided: its first part and how many there are; else 0. */
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
  /** What one block takes of an SM, SM_RESOURCES each: see #profile's partsOfSm. */
  readonly blockParts: Float64Array;
  /** Compute, DRAM, L2 of each step in turn: parts of the peak while it runs alone. */
  readonly need: Float64Array;
  readonly kernelClass: Uint8Array;
  /** The p95, from which the gate of a best-effort client decides. */
  readonly expectedUs: Uint32Array;
  readonly graphUs: number;
  /** The step that a training's backward pass begins with; undefined where the profile has no such mark. */
  readonly backwardAt: number | undefined;
  /** Latency of a request, or time of an iteration in a closed loop, alone. */
  readonly soloNs: number;
  /** Power of its compute, of a bf16 matrix load's. */
  readonly drawn: number;
  /** The SM clock at which the times hold; undefined where the clock is not modelled. */
  readonly referenceMHz: number | undefined;
}

/** What follows from a kernel by itself. */
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
