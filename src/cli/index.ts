// The parts of a program of commands, of which the laboratory's is made, too; and the commands of `cotenant`.
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
} from "./command.ts";
export { askCluster, clusterOptions } from "./commands/cluster/asking.ts";
export { completionCommand } from "./commands/completion.ts";
export { laboratoryPolicies } from "./commands/offered-policies.ts";
export { Screen } from "./commands/top/screen.ts";
export { upWith } from "./commands/up.ts";
export { cotenant } from "./commands.ts";
export { checkCommandLine, dispatch } from "./dispatch.ts";
export { laboratoryCommands } from "./laboratory.ts";
export { manual } from "./manual.ts";
export { commandNames } from "./names.ts";
export { help } from "./parse.ts";
export { type CommandTable, commandsOf, type Program } from "./program.ts";
export { start } from "./start.ts";
