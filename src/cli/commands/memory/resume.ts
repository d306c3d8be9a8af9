import { command, json } from "../../program/command.ts";
import { moveClients, whoToMove } from "./moving.ts";

export const resumeCommand = command({
  name: "resume",
  summary: "return the GPU memory of a parked client",
  options: { json },
  positional: whoToMove,
  examples: ["cotenant resume train"],
  run: ({ positional, ...args }) => moveClients("resume", positional, args.json),
});
