export { type Agent, type AgentOptions, startAgent } from "./agent.ts";
export { startInBackground } from "./background.ts";
export { serveForms } from "./forms/index.ts";
export { logLine } from "./log.ts";
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
export type { Sensor } from "./sensor.ts";
export { openSoftGpus, SOFT_GPU_NAME } from "./softgpu.ts";
export {
  type AgentFile,
  checkDirectory,
  claimDirectory,
  type GpuKind,
  isAgentFileDamaged,
  isLocked,
  isRunning,
  lockDirectory,
  type Mode,
  pathsIn,
  runningAgent,
} from "./state.ts";
export type { BestEffortStatus, GpuStatus, HighStatus, Status } from "./status.ts";
export type { Stranger } from "./strangers.ts";
export { watchSystem } from "./system-watch.ts";
