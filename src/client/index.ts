export {
  agentHere,
  agentsInWords,
  askStatus,
  askToHold,
  askToMove,
  askToPark,
  askToShare,
  askToState,
  askToStop,
  askWhy,
  type Found,
  findAgent,
  machineRunDirectory,
  noAgent,
  ownAgentHere,
  ownRunDirectory,
  ownUid,
} from "./ask.ts";
export { become, ignoreInherited } from "./become.ts";
export {
  type CdiDocument,
  type ClientEdits,
  type ContainerEdits,
  cdiDocument,
  clientEdits,
  containerEdits,
  type HostFiles,
  hostFiles,
} from "./container.ts";
export {
  type ClientOptions,
  clientEnvironment,
  environmentAt,
  jobEnvironment,
  launchEnvironment,
  objectiveEnvironment,
} from "./environment.ts";
export { takeInherited } from "./inherited.ts";
export { readLive } from "./live.ts";
export { addedTo, logHere, type Read, readLog } from "./log.ts";
export { profileEnvironment } from "./profile.ts";
export { findProgram, whyNotPreloaded } from "./program.ts";
export { hasToWait } from "./vacancy.ts";
export { waitForGpu } from "./wait.ts";
export { agentFor, socketToCome, type WithoutAgent } from "./without-agent.ts";
