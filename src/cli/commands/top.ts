import { setTimeout as pause } from "node:timers/promises";
import { askStatus, ownAgentHere } from "#client";
import { command, number } from "../command.ts";
import { describe } from "./status.ts";

const ALTERNATE_SCREEN = "\x1b[?1049h\x1b[?25l";
const MAIN_SCREEN = "\x1b[?1049l\x1b[?25h";
const FROM_THE_TOP = "\x1b[H";
const CLEAR_LINE_END = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";
/** q, Ctrl-C, Ctrl-D. In raw mode the terminal does not turn them into signals. */
const quitKeys = ["q", "Q", "\x03", "\x04"];

export const topCommand = command({
  name: "top",
  summary: "status again and again, until q or Ctrl-C",
  options: { every: number("SECONDS", 1, "how often", { min: 0.1, max: 3600 }) },
  async run(args) {
    ownAgentHere();
    const stop = new AbortController();
    const { stdin, stdout } = process;
    process.once("SIGINT", () => stop.abort());
    process.once("SIGTERM", () => stop.abort());
    stdout.once("error", () => stop.abort()); // whoever was reading has seen enough

    const interactive = stdin.isTTY && stdout.isTTY;
    if (interactive) {
      stdout.write(ALTERNATE_SCREEN);
      stdin.setRawMode(true);
      stdin.on("data", (keys) => {
        if (quitKeys.some((key) => keys.includes(key))) stop.abort();
      });
    }
    try {
      while (!stop.signal.aborted) {
        // The agent is looked for each time, so that a restarted agent is shown too.
        const shown = describe(await askStatus(ownAgentHere().agent), stdout.columns);
        stdout.write(interactive ? screen(shown, stdout.rows) : `${shown}\n\n`);
        await pause(args.every * 1000, undefined, { signal: stop.signal }).catch(() => {});
      }
    } finally {
      if (interactive) {
        stdin.setRawMode(false);
        stdin.pause();
        stdout.write(MAIN_SCREEN);
      }
    }
    return 0;
  },
});

/** Overwrites the former screen line by line, so that it does not flicker. It has no more lines than the terminal. */
function screen(text: string, rows: number): string {
  const lines = text.split("\n");
  const room = rows - 2;
  const shown = lines.length > room ? lines.slice(0, room - 1) : lines;
  const more = lines.length - shown.length;
  const all = [
    ...shown,
    ...(more > 0 ? [`… ${more} more lines: cotenant status`] : []),
    "",
    "q: quit",
  ];
  return `${FROM_THE_TOP}${all.map((line) => `${line}${CLEAR_LINE_END}`).join("\r\n")}${CLEAR_BELOW}`;
}
