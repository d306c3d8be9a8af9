// Processes that use a GPU without a slot.
export { strangerReporter, WARN } from "./stranger-command.ts";
export { type Stranger, Strangers } from "./strangers.ts";
