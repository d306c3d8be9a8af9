export {
  agentHere,
  askStatus,
  askToStop,
  askWhy,
  findAgent,
  machineRunDirectory,
  ownAgentHere,
  ownRunDirectory,
  ownUid,
} from "./ask.ts";
export { become } from "./become.ts";
export { type CdiDocument, cdiDocument } from "./container.ts";
export { clientEnvironment, objectiveEnvironment } from "./environment.ts";
export { profileEnvironment } from "./profile.ts";
