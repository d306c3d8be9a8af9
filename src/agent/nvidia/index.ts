export { type DriverFacts, driverFacts, type GpuFacts } from "./facts.ts";
export { type Gpm, type GpmSample, openGpm } from "./gpm.ts";
export { type Mps, mpsEnvironment, startMps, startSoftMps } from "./mps.ts";
export { driverVersion, openNvml } from "./nvml.ts";
