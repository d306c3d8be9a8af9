// How ranks of one job on several GPUs begin a collective together: the protocol, trainings in small, and the exploration of
// all states.
export { explore, type Property } from "./explore.ts";
export * from "./patterns.ts";
export type { Gang } from "./program.ts";
export type { Variant } from "./protocol.ts";
