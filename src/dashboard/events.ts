// Reads the text of /dashboard/live: server-sent events, as they come in pieces.
import type { LiveEvents } from "./contract.ts";

export type EventHandlers = {
  readonly [E in keyof LiveEvents]: (data: LiveEvents[E]) => void;
};

/** Takes what comes, in pieces, and calls a handler for each whole event. */
export function eventParser(handlers: EventHandlers): (piece: string) => void {
  let rest = "";
  return (piece) => {
    const blocks = (rest + piece).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, event = "", data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
      if (event === "snapshot" || event === "timeline" || event === "worst")
        handlers[event](JSON.parse(data));
    }
  };
}
