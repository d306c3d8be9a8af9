// Whether the CPU limits a service: the GPU then idles for much of each request, and best-effort work fits into these gaps.

/** A request of a service that its CPU limits has a smaller part of its time in kernels. */
const IN_KERNELS_BELOW = 0.75;

/** `gpuShare`: the part of a request in which a kernel runs. */
export const isCpuLimited = (gpuShare: number): boolean => gpuShare < IN_KERNELS_BELOW;

/** Such a service waits for the GPU in a smaller part of its bursts. One that keeps the GPU busy waits nearly all of the time. */
const WAITS_BELOW = 1 - IN_KERNELS_BELOW;
/** Between the two it stays what it was: best-effort work in its gaps makes it wait a little longer. */
const WAITS_ABOVE = 0.4;

/** The same without a profile, by the part of its bursts for which it waits. */
export const isCpuLimitedByWaits = (waits: number, was: boolean): boolean =>
  waits < (was ? WAITS_ABOVE : WAITS_BELOW);
