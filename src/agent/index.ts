export { type Agent, type AgentOptions, startAgent } from "./agent.ts";
export { logLine } from "./log.ts";
export { mpsEnvironment } from "./mps.ts";
export { openNvml } from "./nvml.ts";
export {
  type AgentFile,
  checkDirectory,
  claimDirectory,
  type GpuKind,
  type Mode,
  pathsIn,
  runningAgent,
} from "./state.ts";
export type { BestEffortStatus, GpuStatus, HighStatus, Status } from "./status.ts";
