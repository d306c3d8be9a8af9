export { dispatch } from "./dispatch.ts";
