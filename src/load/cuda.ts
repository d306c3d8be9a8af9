// Symbols have their ABI names (cuda.h maps cuMemAlloc to cuMemAlloc_v2 by macro).
import koffi from "koffi";
import { UserError } from "#core";

export type Pointer = bigint | ArrayBuffer | ArrayBufferView | null;

interface Kinds {
  int: number;
  uint: number;
  float: number;
  size: number; // size_t
  device: bigint; // CUdeviceptr
  ptr: Pointer; // a handle or a host pointer
  str: string;
}

const koffiType: Readonly<Record<keyof Kinds, string>> = {
  int: "int",
  uint: "unsigned int",
  float: "float",
  size: "size_t",
  device: "uint64_t",
  ptr: "void *",
  str: "const char *",
};

const signatures = {
  cuInit: ["uint"],
  cuDeviceGet: ["ptr", "int"],
  cuDeviceGetName: ["ptr", "int", "int"],
  cuDeviceGetAttribute: ["ptr", "int", "int"],
  cuDevicePrimaryCtxRetain: ["ptr", "int"],
  cuDevicePrimaryCtxRelease_v2: ["int"],
  cuCtxSetCurrent: ["ptr"],
  cuModuleLoadData: ["ptr", "str"],
  cuModuleGetFunction: ["ptr", "ptr", "str"],
  cuModuleUnload: ["ptr"],
  cuOccupancyMaxActiveBlocksPerMultiprocessor: ["ptr", "ptr", "int", "size"],
  cuMemAlloc_v2: ["ptr", "size"],
  cuMemFree_v2: ["device"],
  cuMemHostAlloc: ["ptr", "size", "uint"],
  cuMemFreeHost: ["ptr"],
  cuMemcpyHtoD_v2: ["device", "ptr", "size"],
  cuMemcpyDtoH_v2: ["ptr", "device", "size"],
  cuMemcpyHtoDAsync_v2: ["device", "ptr", "size", "ptr"],
  cuMemcpyDtoHAsync_v2: ["ptr", "device", "size", "ptr"],
  cuMemsetD32Async: ["device", "uint", "size", "ptr"],
  cuStreamCreate: ["ptr", "uint"],
  cuStreamDestroy_v2: ["ptr"],
  cuStreamSynchronize: ["ptr"],
  cuStreamBeginCapture_v2: ["ptr", "int"],
  cuStreamEndCapture: ["ptr", "ptr"],
  cuGraphInstantiateWithFlags: ["ptr", "ptr", "device"],
  cuGraphLaunch: ["ptr", "ptr"],
  cuGraphDestroy: ["ptr"],
  cuGraphExecDestroy: ["ptr"],
  cuEventCreate: ["ptr", "uint"],
  cuEventRecord: ["ptr", "ptr"],
  cuEventSynchronize: ["ptr"],
  cuEventElapsedTime: ["ptr", "ptr", "ptr"],
  cuEventDestroy_v2: ["ptr"],
  cuLaunchKernel: [
    ...["ptr", "uint", "uint", "uint", "uint", "uint", "uint", "uint"],
    ...["ptr", "ptr", "ptr"],
  ] as ["ptr", "uint", "uint", "uint", "uint", "uint", "uint", "uint", "ptr", "ptr", "ptr"],
} as const satisfies Readonly<Record<string, readonly (keyof Kinds)[]>>;

type Arguments<S extends readonly (keyof Kinds)[]> = {
  -readonly [I in keyof S]: Kinds[S[I]];
};

export type Cuda = {
  readonly [K in keyof typeof signatures]: (...args: Arguments<(typeof signatures)[K]>) => void;
} & {
  /** Returns false while work before the record is unfinished. */
  cuEventQuery(event: bigint): boolean;
};

const success = 0;
const notReady = 600;

export function loadCuda(): Cuda {
  const library = open();
  const nameOf = library.func("cuGetErrorName", "int", ["int", "void *"]);
  const check = (symbol: string, result: number) => {
    if (result === success) return;
    const text = new BigUint64Array(1);
    const name = nameOf(result, text) === success ? koffi.decode.string(text[0]) : `${result}`;
    throw cudaFailed(symbol, name);
  };
  const eventQuery = library.func("cuEventQuery", "int", ["void *"]);
  const cuda: Record<string, (...args: never[]) => unknown> = {
    cuEventQuery(event: bigint) {
      const result: number = eventQuery(event);
      if (result === notReady) return false;
      check("cuEventQuery", result);
      return true;
    },
  };
  for (const [symbol, kinds] of Object.entries(signatures)) {
    const types = kinds.map((kind) => koffiType[kind]);
    const call = library.func(symbol, "int", types);
    cuda[symbol] = (...args) => {
      const result: number = call(...args);
      if (result !== success) check(symbol, result);
    };
  }
  return cuda as unknown as Cuda;
}

export function driverHere(): boolean {
  try {
    koffi.load(driver);
    return true;
  } catch {
    return false;
  }
}

const driver = "libcuda.so.1";

function open() {
  try {
    return koffi.load(driver);
  } catch {
    throw new UserError(
      "NO_DRIVER",
      "There is no CUDA driver here: libcuda.so.1 was not found.",
      "Install NVIDIA's driver, or put build/native/softgpu into LD_LIBRARY_PATH for the software GPU.",
    );
  }
}

function cudaFailed(symbol: string, name: string): UserError {
  const hint = name === "CUDA_ERROR_OUT_OF_MEMORY" ? "Less --memory, --copy-in or --copy-out." : "";
  return new UserError("CUDA_FAILED", `${symbol} failed: ${name}.`, hint);
}

export function readHandle(call: (out: BigUint64Array) => void): bigint {
  const out = new BigUint64Array(1);
  call(out);
  return out[0] ?? 0n;
}

export function readInt(call: (out: Int32Array) => void): number {
  const out = new Int32Array(1);
  call(out);
  return out[0] ?? 0;
}

export const memoryAt = (address: bigint, bytes: number): ArrayBuffer => koffi.view(address, bytes);

export const addressOf = (memory: ArrayBufferView): bigint => koffi.address(memory);
