// A client may write many long entries, so their number and length are limited.
import type { Log, LogEntry } from "../log/log.ts";

const KEPT = 200;
/** A client's text is cut to this many characters. */
const LONGEST = 300;

export class RecentEvents {
  #entries: LogEntry[] = [];
  readonly #date: () => string;

  constructor(date: () => string) {
    this.#date = date;
  }

  /** It replaces the entries so far; the newest is last. */
  begin(before: readonly LogEntry[]): void {
    this.#entries = before.slice(-KEPT).map(cut);
  }

  get entries(): readonly LogEntry[] {
    return this.#entries;
  }

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
