export { Screen } from "./commands/top/screen.ts";
export { loadCommands } from "./commands.ts";
export { checkCommandLine, dispatch } from "./dispatch.ts";
export { manual } from "./manual.ts";
export { help } from "./parse.ts";
