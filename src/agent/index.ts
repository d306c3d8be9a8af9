export { type Agent, type AgentOptions, startAgent } from "./agent.ts";
export { startInBackground } from "./background.ts";
export { descriptorOf, type Identify } from "./connections/peer.ts";
export { openDoor } from "./connections/socket.ts";
export { type Applicant, ServedGpu } from "./gpu.ts";
export { logLine } from "./log.ts";
export { metrics, renderMetrics } from "./metrics.ts";
export {
  driverVersion,
  type Gpm,
  type GpmSample,
  mpsEnvironment,
  openGpm,
  openNvml,
  startMps,
  startSoftMps,
} from "./nvidia/index.ts";
export { createRegion, formatUuid, REGION_LINK, SharedRegion } from "./region.ts";
export { Registry } from "./registry.ts";
export type { GpuReading, Sensor } from "./sensor.ts";
export { openSoftGpus, SOFT_GPU_NAME } from "./softgpu.ts";
export {
  type AgentFile,
  checkDirectory,
  claimDirectory,
  type GpuKind,
  isAgentFileDamaged,
  isLocked,
  isRunning,
  isTrusted,
  lockDirectory,
  type Mode,
  pathsIn,
  runningAgent,
  runningService,
  type Scope,
  type Service,
  writeAgentFile,
} from "./state.ts";
export type { BestEffortStatus, GpuStatus, HighStatus, Status } from "./status.ts";
export {
  createMemoryFile,
  openFilesOf,
  pidNamespace,
  receiveWithDescriptor,
  sealSize,
  sendWithDescriptor,
  startTimeOf,
} from "./system/index.ts";
export { watchSystem } from "./system-watch.ts";
export type { Stranger } from "./tenants/index.ts";
export {
  admissionByFile,
  admitAll,
  describeIdentity,
  type Identity,
  identityOf,
} from "./tenants/index.ts";
export {
  makeVariants,
  noVariantStore,
  serveVariants,
  type VariantLimits,
  type VariantMaker,
  VariantQueue,
  variantLimits,
} from "./variants/index.ts";
export { Watch } from "./watch.ts";
export type { Explanation } from "./why.ts";
