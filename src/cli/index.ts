export { commands } from "./commands.ts";
export { dispatch } from "./dispatch.ts";
export { help } from "./parse.ts";
