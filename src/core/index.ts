export { type Clock, dateNow, systemClock } from "./clock.ts";
export * as errors from "./errors.ts";
export { UserError, usage } from "./errors.ts";
export { runDirectory } from "./paths.ts";
export { type Bytes, type Micros, ms, parseBytes, parseDuration, us } from "./units.ts";
