import { asideOf, formatEntry, type LogEntry, parseEntry, userNames, withUserName } from "#agent";
import { logHere, readLog } from "#client";
import { isFile } from "#core";
import { command, flag, since } from "../program/command.ts";
import { addedUntilInterrupted } from "../program/follow.ts";

export const eventsCommand = command({
  name: "events",
  summary: "show what has changed: clients, refusals, objectives, pauses, untracked processes",
  options: {
    since: since(
      "only what is not older: 3m, 1h, 2d, or a date such as 2026-11-30T14:05; all that the log still holds if not given",
    ),
    follow: flag("go on with what happens from now on, until Ctrl-C"),
    json: flag("print one JSON object a line"),
  },
  examples: ["cotenant events --since 1h", "cotenant events --json --follow"],
  async run({ since: from = 0, follow, json }) {
    const path = logHere();
    const read = readLog(path);
    const aside = asideOf(path);
    const before = isFile(aside) ? readLog(aside).bytes.toString() : "";
    const format = json ? "json" : "text";
    const nameOf = userNames();
    // The log has numbers, which mean the same for ever.
    const named = (entry: LogEntry): LogEntry => {
      const { of } = entry.facts;
      if (json || typeof of !== "string") return entry;
      return { ...entry, facts: { ...entry.facts, of: withUserName(of, nameOf) } };
    };
    const print = (lines: readonly string[]) => {
      const entries = lines
        .flatMap((line) => parseEntry(line) ?? [])
        .filter(({ time }) => Date.parse(time) >= from);
      process.stdout.write(
        entries.map((entry) => `${formatEntry(format, named(entry))}\n`).join(""),
      );
      return entries.length;
    };
    const printed = print(`${before}${read.bytes}`.split("\n"));
    if (printed === 0 && !follow)
      console.error(
        `cotenant: There is no event ${from > 0 ? `since ${new Date(from).toISOString()} ` : ""}in ${path}.`,
      );
    if (!follow) return 0;
    let rest = "";
    for await (const added of addedUntilInterrupted(path, read)) {
      const lines = `${rest}${added}`.split("\n");
      rest = lines.pop() ?? "";
      print(lines);
    }
    return 0;
  },
});
