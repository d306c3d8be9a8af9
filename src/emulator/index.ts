export { byteFloat } from "./instructions/arithmetic/fp8.ts";
export { encodeTensorMap, type TensorMap } from "./instructions/memory/tensor-maps.ts";
export { type Argument, type Extent, launch } from "./launch.ts";
export { DeviceMemory } from "./machine/memory.ts";
export { decode, encode } from "./numbers/halves.ts";
