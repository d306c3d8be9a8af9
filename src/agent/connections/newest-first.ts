// After a time without CPU the agent finds a queue of connections, oldest first. A client hangs up when it has waited too
// long, so the newest connection is the one whose client is most likely to be there for the answer.
import type { Socket } from "node:net";

/** Turns of the event loop in which connections are only accepted. Each accepts one at least. */
const MAX_ACCEPTING_TURNS = 512;

/** Returns what takes each connection. `serve` gets them, except those that have closed meanwhile. */
export function newestFirst<S extends Pick<Socket, "destroyed">>(
  serve: (socket: S) => void,
  nextTurn: (run: () => void) => void = setImmediate,
): (socket: S) => void {
  const waiting: S[] = [];
  let running = false;
  let more = false;
  let turns = 0;
  const turn = () => {
    const accepting = more && ++turns < MAX_ACCEPTING_TURNS;
    more = false;
    if (!accepting) {
      const socket = waiting.pop();
      if (socket && !socket.destroyed) serve(socket);
    }
    running = waiting.length > 0;
    if (running) nextTurn(turn);
    else turns = 0;
  };
  return (socket) => {
    waiting.push(socket);
    if (running) more = true;
    else nextTurn(turn);
    running = true;
  };
}
