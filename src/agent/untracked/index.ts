export { type UntrackedProcess, UntrackedProcesses } from "./processes.ts";
export { strangerReporter, WARN } from "./stranger-command.ts";
