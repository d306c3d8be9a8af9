// Orion, section 5.2: the roofline decides if operations were counted, else what is above 60 %.
import type { KernelClass } from "./types.ts";

/** Nsight Compute recommends the value and Orion uses it. */
const BUSY = 0.6;

export interface Counted {
  /** They are floating-point operations; an FMA counts as two. 0 gives no information. */
  readonly flops?: number;
  readonly bytes?: number;
  /** It is in FLOPs per byte. Orion's artifact has 9.72 for the V100; the data sheet gives 17.4. */
  readonly ridge?: number;
  readonly sm?: number;
  readonly memory?: number;
}

export function classify({ flops, bytes, ridge, sm = 0, memory = 0 }: Counted): KernelClass {
  if (flops && bytes !== undefined && ridge !== undefined)
    return flops / bytes > ridge ? "compute" : "memory";
  if (Math.max(sm, memory) <= BUSY) return "unknown";
  return sm >= memory ? "compute" : "memory";
}
