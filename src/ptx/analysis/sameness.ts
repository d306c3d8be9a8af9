import { WARP_SIZE } from "./addresses.ts";

/**
 * They go from narrow to wide: `aligned` is the same in the block and a multiple of the warp size;
 * `lanes` has the lane in its low five bits, and is the same in each warp above them.
 */
export type Sameness = "aligned" | "block" | "warp" | "lanes" | "varying";

export function join(a: Sameness, b: Sameness): Sameness {
  if (a === b) return a;
  if (a === "varying" || b === "varying" || a === "lanes" || b === "lanes") return "varying";
  return a === "warp" || b === "warp" ? "warp" : "block";
}

export function plain(sources: readonly Sameness[]): Sameness {
  let all: Sameness = "block";
  for (const one of sources) all = join(all, one === "aligned" ? "block" : one);
  return all === "lanes" ? "varying" : all;
}

/** undefined for a mask that does not clear or keep all five bits of the lane. */
export function lanesOfMask(mask: number): Sameness | undefined {
  if (mask % WARP_SIZE === 0) return "warp";
  return (mask & (WARP_SIZE - 1)) === WARP_SIZE - 1 ? "lanes" : undefined;
}

export const areWholeWarps = (threads: number) => threads > 0 && threads % WARP_SIZE === 0;

export function sum(a: Sameness, b: Sameness): Sameness | undefined {
  if (a === "aligned") return b === "aligned" || b === "lanes" ? b : undefined;
  return b === "aligned" && a === "lanes" ? "lanes" : undefined;
}

export const product = (a: Sameness, b: Sameness): Sameness | undefined => {
  const both = (a === "aligned" || a === "block") && (b === "aligned" || b === "block");
  return both && (a === "aligned" || b === "aligned") ? "aligned" : undefined;
};

/** `tid < 64` and `tid > 63` diverge between warps only. `b` is the uniformity of `bound`. */
export function comparisonResult(how: string, bound: number, b: Sameness): Sameness | undefined {
  const below = how === "lt" || how === "ge" || how === "lo" || how === "hs";
  const upTo = how === "le" || how === "gt" || how === "ls" || how === "hi";
  if (below && b === "aligned") return "warp";
  return upTo && (bound + 1) % WARP_SIZE === 0 ? "warp" : undefined;
}
