// The GPU idles for much of such a service's requests, and best-effort work fits into the gaps.

const IN_KERNELS_BELOW = 0.75;
export const isCpuLimited = (gpuShare: number): boolean => gpuShare < IN_KERNELS_BELOW;
const WAITS_BELOW = 1 - IN_KERNELS_BELOW;
/** Best-effort work in its gaps makes a service wait a little longer. */
const WAITS_ABOVE = 0.4;

export const isCpuLimitedByWaits = (waits: number, was: boolean): boolean =>
  waits < (was ? WAITS_ABOVE : WAITS_BELOW);
