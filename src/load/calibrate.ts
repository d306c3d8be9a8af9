// Other work on the GPU can only make a kernel slower, so each reading is the smallest of several.
import { readHandle } from "./cuda.ts";
import { type Gpu, launch } from "./gpu.ts";
import type { KernelName } from "./kernels.ts";
import { type Calibration, kernelsOf, type Work } from "./plan.ts";
import type { Slot } from "./slot.ts";

const rounds = 5;
const enoughUs = 40;
const mostIterations = 2 ** 30;
const mostSearches = 5;
const chain = 4; // the wanted time is that of a kernel among others

export function calibrate(
  gpu: Gpu,
  work: Work,
  slots: readonly [Slot, ...Slot[]],
): Partial<Record<KernelName, Calibration>> {
  const timeUs = stopwatch(gpu, slots[0]);
  const calibration: Partial<Record<KernelName, Calibration>> = {};
  for (const name of new Set(kernelsOf(work))) {
    const least = (iterations: number) => {
      for (const slot of slots) slot.parameters[name].values[1] = BigInt(iterations);
      return Math.min(...Array.from({ length: rounds }, () => timeUs(name)));
    };
    const { iterations, kernelUs } = search(work.kernelUs, least);
    calibration[name] = {
      iterations,
      kernelUs: Math.round(kernelUs * 100) / 100,
      blocks: gpu.kernels[name].blocks,
    };
  }
  return calibration;
}

/** A reading is never too short, so a kernel that proves much shorter shows a disturbed search. */
export function search(
  wantedUs: number,
  timeUs: (iterations: number) => number,
): { readonly iterations: number; readonly kernelUs: number } {
  for (let searches = 1; ; searches++) {
    const iterations = iterationsFor(wantedUs, timeUs);
    const kernelUs = timeUs(iterations);
    if (kernelUs > 0.9 * wantedUs || searches === mostSearches) return { iterations, kernelUs };
  }
}

export function iterationsFor(wantedUs: number, timeUs: (iterations: number) => number): number {
  let iterations = 16;
  let took = timeUs(iterations);
  while (took < Math.min(enoughUs, wantedUs) && iterations < mostIterations) {
    iterations *= 2;
    took = timeUs(iterations);
  }
  // A line goes through two points near the target, because a launch also has a fixed cost.
  const high = clamp((iterations * wantedUs) / took);
  const low = clamp(high / 2);
  const highUs = timeUs(high);
  const slope = (highUs - timeUs(low)) / (high - low);
  return slope > 0 ? clamp(high + (wantedUs - highUs) / slope) : high;
}

const clamp = (iterations: number) => Math.min(Math.max(Math.round(iterations), 1), mostIterations);

function stopwatch({ cuda, own, ...gpu }: Gpu, slot: Slot): (name: KernelName) => number {
  const event = () =>
    own(
      readHandle((out) => cuda.cuEventCreate(out, 0)),
      cuda.cuEventDestroy_v2,
    );
  const before = event();
  const after = event();
  const elapsedMs = new Float32Array(1);
  return (name) => {
    cuda.cuEventRecord(before, slot.stream);
    for (let i = 0; i < chain; i++)
      launch(cuda, gpu.kernels[name], slot.parameters[name], slot.stream);
    cuda.cuEventRecord(after, slot.stream);
    cuda.cuEventSynchronize(after);
    cuda.cuEventElapsedTime(elapsedMs, before, after);
    return ((elapsedMs[0] ?? 0) * 1000) / chain;
  };
}
