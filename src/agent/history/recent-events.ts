// The newest entries of the log, in memory: a bounded number, of a bounded length each.
import type { Log, LogEntry } from "../log/log.ts";

const KEPT = 200;
/** Limit of a text that comes from a client, in characters. */
const LONGEST = 300;

export class RecentEvents {
  #entries: LogEntry[] = [];
  readonly #date: () => string;

  constructor(date: () => string) {
    this.#date = date;
  }

  /** Instead of what is here so far: what was logged before, the newest last. */
  begin(before: readonly LogEntry[]): void {
    this.#entries = before.slice(-KEPT).map(cut);
  }

  /** The newest last. */
  get entries(): readonly LogEntry[] {
    return this.#entries;
  }

  /** A log that is kept here, too. */
  keeping(log: Log): Log {
    return (event, facts = {}) => {
      log(event, facts);
      this.#entries.push(cut({ time: this.#date(), event, facts }));
      if (this.#entries.length > KEPT) this.#entries.shift();
    };
  }
}

const cut = ({ time, event, facts }: LogEntry): LogEntry => ({
  time,
  event,
  facts: Object.fromEntries(
    Object.entries(facts).map(([key, value]) => [
      key,
      typeof value === "string" && value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value,
    ]),
  ),
});
