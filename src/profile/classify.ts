// Is a kernel short of compute or of memory? As Orion asks it (section 5.2): by the roofline where the
// profiler counted operations and bytes, else by what is used more than 60 % of its peak, else unknown.
import type { KernelClass } from "./types.ts";

/** What Nsight Compute recommends, and Orion takes: strictly more than it. */
const BUSY = 0.6;

export interface Counted {
  /** Floating-point operations of one launch, an FMA counted as two; 0 says nothing of a kernel. */
  readonly flops?: number;
  /** DRAM traffic of one launch. */
  readonly bytes?: number;
  /**
   * FLOPs per byte of the roofline's ridge. Peaks are those of the GPU (see `ridgePoint`); the artifact of
   * Orion defaults to 9.72 for the V100, where the data sheet gives 17.4.
   */
  readonly ridge?: number;
  readonly sm?: number;
  readonly memory?: number;
}

/** Above both thresholds the larger wins. */
export function classify({ flops, bytes, ridge, sm = 0, memory = 0 }: Counted): KernelClass {
  if (flops && bytes !== undefined && ridge !== undefined)
    return flops / bytes > ridge ? "compute" : "memory";
  if (Math.max(sm, memory) <= BUSY) return "unknown";
  return sm >= memory ? "compute" : "memory";
}
