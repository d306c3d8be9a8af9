// Whether a kernel is limited by compute or by memory, as Orion decides it (section 5.2): by the roofline if the
// profiler counted operations and bytes, else by what uses more than 60 % of its peak. Otherwise the class is unknown.
import type { KernelClass } from "./types.ts";

/** A utilisation above this counts as high. Nsight Compute recommends the value and Orion uses it. */
const BUSY = 0.6;

export interface Counted {
  /** Floating-point operations of one launch; an FMA counts as two. 0 gives no information. */
  readonly flops?: number;
  /** DRAM traffic of one launch. */
  readonly bytes?: number;
  /**
   * FLOPs per byte at the roofline's ridge, from the peaks of the GPU (see `ridgePoint`). Orion's artifact defaults to
   * 9.72 for the V100; the data sheet gives 17.4.
   */
  readonly ridge?: number;
  readonly sm?: number;
  readonly memory?: number;
}

/** If both utilisations are high, the larger decides. */
export function classify({ flops, bytes, ridge, sm = 0, memory = 0 }: Counted): KernelClass {
  if (flops && bytes !== undefined && ridge !== undefined)
    return flops / bytes > ridge ? "compute" : "memory";
  if (Math.max(sm, memory) <= BUSY) return "unknown";
  return sm >= memory ? "compute" : "memory";
}
