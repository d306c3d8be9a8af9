// Connections of one kind, of which there is room for so many. When one more comes the oldest is closed, so that nobody
// can keep others out by staying silent.
import type { Socket } from "node:net";

export class WaitingRoom {
  readonly #most: number;
  /** Oldest first. */
  readonly #waiting = new Set<Socket>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Once more makes no difference. */
  enter(socket: Socket): void {
    if (this.#waiting.has(socket)) return;
    this.#waiting.add(socket);
    socket.once("close", () => this.leave(socket));
    const [oldest] = this.#waiting;
    if (this.#waiting.size > this.#most) oldest?.destroy();
  }

  leave(socket: Socket): void {
    this.#waiting.delete(socket);
  }
}
