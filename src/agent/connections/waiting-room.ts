// At the limit, the oldest connection of the user with most connections is closed. So no user can
// keep others out by staying silent or by connecting again and again.
import type { Socket } from "node:net";

export class WaitingRoom {
  readonly #most: number;
  readonly #waiting = new Map<Socket, number | undefined>();

  readonly #sendAway: (socket: Socket) => void;

  constructor(most: number, sendAway = (socket: Socket): void => void socket.destroy()) {
    this.#most = most;
    this.#sendAway = sendAway;
  }

  enter(socket: Socket, uid?: number): void {
    if (this.#waiting.has(socket)) return;
    this.#waiting.set(socket, uid);
    socket.once("close", () => this.leave(socket));
    const oldest = this.#waiting.size > this.#most ? this.#oldestOfMost() : undefined;
    if (oldest) this.#sendAway(oldest);
  }

  #oldestOfMost(): Socket | undefined {
    const counts = new Map<number | undefined, number>();
    for (const uid of this.#waiting.values()) counts.set(uid, (counts.get(uid) ?? 0) + 1);
    const most = Math.max(...counts.values());
    for (const [socket, uid] of this.#waiting) if (counts.get(uid) === most) return socket;
    return undefined;
  }

  leave(socket: Socket): void {
    this.#waiting.delete(socket);
  }
}
