// Makes a context on the first GPU and nothing else, to check whether that is possible.
import { loadCuda, readHandle, readInt } from "./cuda.ts";

/**
 * Makes the primary context, as the CUDA runtime does, and releases it. Throws a UserError that names the call that
 * failed.
 */
export function makeContext(): void {
  const cuda = loadCuda();
  cuda.cuInit(0);
  const device = readInt((out) => cuda.cuDeviceGet(out, 0));
  const context = readHandle((out) => cuda.cuDevicePrimaryCtxRetain(out, device));
  cuda.cuCtxSetCurrent(context);
  cuda.cuDevicePrimaryCtxRelease_v2(device);
}
