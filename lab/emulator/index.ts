export { encodeTensorMap, type TensorMap } from "./instructions/memory/tensor-maps.ts";
export { type Extent, launch } from "./launch.ts";
export { DeviceMemory } from "./machine/memory.ts";
export { byteFloat } from "./numbers/fp8.ts";
export { decode, encode } from "./numbers/halves.ts";
export type { Argument } from "./parameters.ts";
export { type Ran, runKernel } from "./run-kernel.ts";
