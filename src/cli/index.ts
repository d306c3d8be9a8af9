export { askCluster, clusterOptions } from "./commands/cluster/asking.ts";
export { completionCommand } from "./commands/completion.ts";
export { Screen } from "./commands/top/screen.ts";
export { laboratoryPolicies } from "./commands/up/offered-policies.ts";
export { upWith } from "./commands/up/up.ts";
export { cotenant } from "./commands.ts";
export { commandNames, laboratoryCommands } from "./names/names.ts";
export {
  type Args,
  choice,
  command,
  flag,
  json,
  list,
  number,
  place,
  text,
} from "./program/command.ts";
export { checkCommandLine, dispatch } from "./program/dispatch.ts";
export { manual } from "./program/manual.ts";
export { help } from "./program/parse.ts";
export { type CommandTable, commandsOf, type Program } from "./program/program.ts";
export { start } from "./program/start.ts";
