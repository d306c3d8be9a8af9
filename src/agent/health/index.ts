export { AskedHolds } from "./asked-holds.ts";
export { GpuHealth, type HealthStatus } from "./gpu-health.ts";
export { lookAfter } from "./look-after.ts";
