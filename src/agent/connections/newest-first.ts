// After a time without CPU the agent finds a queue of connections, oldest first. A client hangs up
// when it has waited too long, so the newest connection most likely still has its client.
import type { Socket } from "node:net";

const MAX_ACCEPTING_TURNS = 512;

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
