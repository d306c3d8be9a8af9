// A context on the first GPU and nothing else, for who wants to know whether one can be made.
import { loadCuda, readHandle, readInt } from "./cuda.ts";

/** Makes the primary context, as the CUDA runtime does, and gives it back. Throws a UserError that names the call that failed. */
export function makeContext(): void {
  const cuda = loadCuda();
  cuda.cuInit(0);
  const device = readInt((out) => cuda.cuDeviceGet(out, 0));
  const context = readHandle((out) => cuda.cuDevicePrimaryCtxRetain(out, device));
  cuda.cuCtxSetCurrent(context);
  cuda.cuDevicePrimaryCtxRelease_v2(device);
}
