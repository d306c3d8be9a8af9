export { type Argument, type Extent, launch } from "./launch.ts";
export { DeviceMemory } from "./memory.ts";
