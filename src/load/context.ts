import { loadCuda, readHandle, readInt } from "./cuda.ts";

/** Throws a UserError that names the failed call. */
export function makeContext(): void {
  const cuda = loadCuda();
  cuda.cuInit(0);
  const device = readInt((out) => cuda.cuDeviceGet(out, 0));
  const context = readHandle((out) => cuda.cuDevicePrimaryCtxRetain(out, device));
  cuda.cuCtxSetCurrent(context);
  cuda.cuDevicePrimaryCtxRelease_v2(device);
}
