export { type DriverFacts, driverFacts, type GpuFacts } from "./facts.ts";
export { type Gpm, type GpmSample, openGpm } from "./gpm.ts";
export { driverVersion } from "./library.ts";
export { type Mps, mpsEnvironment, startMps, startSoftMps } from "./mps.ts";
export { openNvml } from "./nvml.ts";
