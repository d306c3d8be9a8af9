export type { MovableMemory } from "./movable.ts";
export { type Asked, askClients, type ParkCommand } from "./parking.ts";
