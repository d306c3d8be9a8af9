export type { MovableMemory } from "./movable.ts";
export { type Asked, askClients, isCalled, type ParkCommand } from "./parking.ts";
export { Room } from "./room.ts";
export { Sleepers } from "./sleep.ts";
export type { Quantum } from "./turns.ts";
