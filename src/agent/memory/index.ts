export type { MovableMemory } from "./movable.ts";
export { type Asked, askClients, type ParkCommand } from "./parking.ts";
export { Room } from "./room.ts";
