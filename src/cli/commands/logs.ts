import { logHere, readLog } from "#client";
import { command, flag, number } from "../program/command.ts";
import { addedUntilInterrupted } from "../program/follow.ts";

export const logsCommand = command({
  name: "logs",
  summary: "show what the agent has logged",
  options: {
    lines: number("N", 100, "the last so many", { whole: true }),
    follow: flag("go on with what is logged from now on, until Ctrl-C"),
  },
  examples: ["cotenant logs --lines 20 --follow"],
  async run({ lines, follow }) {
    const path = logHere();
    const read = readLog(path);
    process.stdout.write(lastLines(read.bytes.toString(), lines));
    if (!follow) return 0;
    for await (const added of addedUntilInterrupted(path, read)) process.stdout.write(added);
    return 0;
  },
});

const lastLines = (text: string, count: number): string =>
  text
    .split(/(?<=\n)/)
    .slice(-count || Infinity)
    .join("");
