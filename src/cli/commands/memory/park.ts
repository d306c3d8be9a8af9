import { command, json } from "../../program/command.ts";
import { moveClients, whoToMove } from "./moving.ts";

export const parkCommand = command({
  name: "park",
  summary: "move a best-effort client's GPU memory to the host",
  options: { json },
  positional: whoToMove,
  examples: ["cotenant park train"],
  run: ({ positional, ...args }) => moveClients("park", positional, args.json),
});
