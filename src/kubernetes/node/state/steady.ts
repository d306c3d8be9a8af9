// Each change is a write that wakes the scheduler and the managers. So the load is published when
// its mean is another one, and of the memory the least that was left.
import { statedLoad } from "#place";
import type { NodeGpu } from "./gpus.ts";

/** The load is an exponential mean over this time. */
const LOAD_OVER_MS = 30_000;
const MIN_LOAD_CHANGE = 0.1;
/** Memory that was free for this long is published as more; less memory is published at once. */
const MEMORY_AFTER_MS = 600_000;
const MIN_MEMORY_RISE = 2 ** 30;

interface Shown {
  readonly podUid: string | undefined;
  activeShare: number;
  mean: number;
  at: number;
  memoryBytes: number;
  /** The least that was left since memory was raised last, or could have been. */
  least: number;
}

export class Steady {
  readonly #shown = new Map<string, Shown>();
  /** All GPUs of the node have more memory at the same time: one write tells it. */
  #raisedAt: number | undefined;

  /** `now` is in ms. */
  of(gpus: readonly NodeGpu[], now: number): readonly NodeGpu[] {
    this.#raisedAt ??= now;
    const raises = now - this.#raisedAt >= MEMORY_AFTER_MS;
    if (raises) this.#raisedAt = now;
    return gpus.map((gpu) => {
      const { uuid, podUid } = gpu;
      let shown = this.#shown.get(uuid);
      if (shown === undefined || shown.podUid !== podUid) {
        const { activeShare, memoryBytes } = gpu;
        const mean = activeShare;
        shown = { podUid, activeShare, mean, at: now, memoryBytes, least: memoryBytes };
        this.#shown.set(uuid, shown);
      }
      shown.memoryBytes = Math.min(shown.memoryBytes, gpu.memoryBytes);
      shown.least = Math.min(shown.least, gpu.memoryBytes);
      if (raises) {
        if (shown.least - shown.memoryBytes >= MIN_MEMORY_RISE) shown.memoryBytes = shown.least;
        shown.least = gpu.memoryBytes;
      }
      followLoad(shown, gpu.activeShare, now);
      return { ...gpu, activeShare: shown.activeShare, memoryBytes: shown.memoryBytes };
    });
  }
}

function followLoad(shown: Shown, activeShare: number, now: number): void {
  shown.mean += (activeShare - shown.mean) * -Math.expm1((shown.at - now) / LOAD_OVER_MS);
  shown.at = now;
  if (Math.abs(shown.mean - shown.activeShare) >= MIN_LOAD_CHANGE)
    shown.activeShare = statedLoad(shown.mean);
}
