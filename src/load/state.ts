// Each kernel adds 1 to every word of a slot's state. So a run knows whether every launch took
// place exactly once, and two runs can be compared bit for bit.
import { createHash } from "node:crypto";
import { type Random, sfc32 } from "#core";
import { type Gpu, stateWords } from "./gpu.ts";
import { blockThreads, lastCount } from "./kernels.ts";
import type { Slot } from "./slot.ts";

const firstBelow = 1000;

const wordAtFirst = (random: Random) => Math.floor(random() * firstBelow);

export function resetState(gpu: Gpu, slot: Slot, seed: number): void {
  const random = sfc32(seed);
  const words = Float32Array.from({ length: stateWords(gpu) }, () => wordAtFirst(random));
  gpu.cuda.cuMemcpyHtoD_v2(slot.state, words, words.byteLength);
  // A copy from pageable memory may come back early, and the slot's stream does not wait for it.
  gpu.cuda.cuStreamSynchronize(null);
}

export function stateCounts({ cuda }: Gpu, slot: Slot, seed: number, launches: number): boolean {
  const random = sfc32(seed);
  const words = new Float32Array(blockThreads);
  cuda.cuMemcpyDtoH_v2(words, slot.state, words.byteLength);
  return words.every((word) => word === Math.min(wordAtFirst(random) + launches, lastCount));
}

const checkedRequests = 3;

export function checksum(gpu: Gpu, slot: Slot, seed: number): string {
  resetState(gpu, slot, seed);
  for (let i = 0; i < checkedRequests; i++) {
    slot.submit();
    slot.wait();
  }
  const words = new Float32Array(stateWords(gpu));
  gpu.cuda.cuMemcpyDtoH_v2(words, slot.state, words.byteLength);
  return createHash("sha256").update(words).digest("hex");
}
