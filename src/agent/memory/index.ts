export type { MovableMemory } from "./movable.ts";
export { askClients, type ParkCommand, type SentCommand } from "./parking.ts";
export { Room } from "./room.ts";
export { Sleepers } from "./sleep.ts";
export type { Quantum } from "./turns.ts";
