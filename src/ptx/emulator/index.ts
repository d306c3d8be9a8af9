export { type Argument, type Extent, launch } from "./launch.ts";
export { DeviceMemory } from "./memory.ts";
export { encodeTensorMap, type TensorMap } from "./tensor-maps.ts";
