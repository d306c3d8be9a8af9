import { usage } from "#core";
import { addressOf, type Cuda, type Pointer, readHandle, readInt } from "./cuda.ts";
import { blockThreads, entryPoint, type KernelName, ptx } from "./kernels.ts";

const multiprocessorCount = 16;

export interface Kernel {
  readonly handle: bigint;
  readonly blocks: number;
}

export interface Gpu {
  readonly cuda: Cuda;
  readonly name: string;
  readonly sms: number;
  readonly kernels: Readonly<Record<KernelName, Kernel>>;
  close(): void;
  own<T>(thing: T, release: (thing: T) => void): T;
}

/** The CUDA runtime uses the primary context, too. */
export function openGpu(cuda: Cuda, wantedSms: number, waves: number): Gpu {
  cuda.cuInit(0);
  const device = readInt((out) => cuda.cuDeviceGet(out, 0));
  const all = readInt((out) => cuda.cuDeviceGetAttribute(out, multiprocessorCount, device));
  if (wantedSms > all) throw usage(`--sms ${wantedSms} is more than this GPU has (${all}).`);
  const sms = wantedSms || all;

  const releases: (() => void)[] = [];
  const own = <T>(thing: T, release: (thing: T) => void): T => {
    releases.push(() => release(thing));
    return thing;
  };
  const context = own(
    readHandle((out) => cuda.cuDevicePrimaryCtxRetain(out, device)),
    () => cuda.cuDevicePrimaryCtxRelease_v2(device),
  );
  cuda.cuCtxSetCurrent(context);
  const module = own(
    readHandle((out) => cuda.cuModuleLoadData(out, ptx)),
    cuda.cuModuleUnload,
  );
  const kernel = (name: KernelName): Kernel => {
    const handle = readHandle((out) => cuda.cuModuleGetFunction(out, module, entryPoint[name]));
    const perSm = readInt((out) =>
      cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(out, handle, blockThreads, 0),
    );
    return { handle, blocks: sms * Math.max(perSm, 1) * waves };
  };
  return {
    cuda,
    name: nameOf(cuda, device),
    sms,
    kernels: { compute: kernel("compute"), memory: kernel("memory") },
    own,
    close() {
      for (const release of releases.reverse()) release();
    },
  };
}

function nameOf(cuda: Cuda, device: number): string {
  const text = new Uint8Array(100);
  cuda.cuDeviceGetName(text, text.length, device);
  return Buffer.from(text.subarray(0, text.indexOf(0))).toString();
}

export const deviceMemory = ({ cuda, own }: Gpu, bytes: number): bigint =>
  own(
    readHandle((out) => cuda.cuMemAlloc_v2(out, bytes)),
    cuda.cuMemFree_v2,
  );

export const pinnedMemory = ({ cuda, own }: Gpu, bytes: number): bigint =>
  own(
    readHandle((out) => cuda.cuMemHostAlloc(out, bytes, 0)),
    cuda.cuMemFreeHost,
  );

export const stateWords = ({ kernels }: Gpu): number =>
  // Each thread of the largest grid has a word.
  Math.max(kernels.compute.blocks, kernels.memory.blocks) * blockThreads;

/** The driver reads parameters of 8 bytes here. */
export interface Parameters {
  readonly values: BigUint64Array;
  readonly pointers: BigUint64Array;
}

export function parameters(...values: bigint[]): Parameters {
  const kept = BigUint64Array.from(values);
  const start = addressOf(kept);
  return { values: kept, pointers: kept.map((_, i) => start + BigInt(8 * i)) };
}

export function launch(cuda: Cuda, kernel: Kernel, given: Parameters, stream: Pointer): void {
  const { handle, blocks } = kernel;
  cuda.cuLaunchKernel(handle, blocks, 1, 1, blockThreads, 1, 1, 0, stream, given.pointers, null);
}
