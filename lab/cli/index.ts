export { laboratory } from "./commands.ts";
