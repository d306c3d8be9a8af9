export {
  agentHere,
  askStatus,
  askToStop,
  askWhy,
  findAgent,
  ownAgentHere,
  ownRunDirectory,
  ownUid,
} from "./ask.ts";
export { become } from "./become.ts";
export { clientEnvironment, objectiveEnvironment } from "./environment.ts";
export { profileEnvironment } from "./profile.ts";
