// Burdens multiply: kernels that are twice as long cost any neighbour about twice as much. So z =
// log(slowdown - 1 + softness). With little softness z is the logit of retained throughput, which
// cannot exceed 1. With softness 1 it is the log of the slowdown, so retained throughput may exceed
// 1, as with a badly measured solo throughput. The softness that fits best is learned.

export const ceiling = (softness: number): number =>
  softness >= 1 ? Number.POSITIVE_INFINITY : 1 / (1 - softness);

const BELOW_CEILING = 0.98;
const MIN_RETAINED = 0.01;

const within = (retained: number, softness: number): number =>
  Math.max(MIN_RETAINED, Math.min(retained, BELOW_CEILING * ceiling(softness)));

export const toScale = (retained: number, softness: number): number =>
  Math.log(1 / within(retained, softness) - 1 + softness);

export const fromScale = (z: number, softness: number): number => 1 / (Math.exp(z) + 1 - softness);

/** It is |d retained/dz| at z. */
export function steepness(z: number, softness: number): number {
  const retained = fromScale(z, softness);
  return retained * retained * Math.exp(z);
}
