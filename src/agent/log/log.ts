export type Facts = Readonly<Record<string, string | number>>;
export type Log = (event: string, facts?: Facts) => void;

export interface LogEntry {
  readonly time: string;
  readonly event: string;
  readonly facts: Facts;
}

export const logFormats = ["text", "json"] as const;
export type LogFormat = (typeof logFormats)[number];

export const formatEntry = (format: LogFormat, { time, event, facts }: LogEntry): string =>
  format === "json" ? visible({ time, event, ...facts }) : `${time} ${logLine(event, facts)}`;

/** `attached client="serve" pid=42`: text is quoted when it could be taken for something else. */
export const logLine: (...decision: Parameters<Log>) => string = (event, facts = {}) =>
  [event, ...Object.entries(facts).map(([key, value]) => `${key}=${quoted(value)}`)].join(" ");

const quoted = (value: string | number) =>
  typeof value === "number" || (/^[\w.:/-]+$/.test(value) && !isNumber(value))
    ? String(value)
    : visible(value);

/** Escapes what ends a line for some program, steers a terminal or turns the direction of text. */
const visible = (value: unknown) =>
  JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (text) =>
    Array.from(
      { length: text.length },
      (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, "0")}`,
    ).join(""),
  );

const isNumber = (text: string) => String(Number(text)) === text;

export function parseEntry(line: string): LogEntry | undefined {
  try {
    return line.startsWith("{") ? fromJson(line) : fromText(line);
  } catch {
    return undefined;
  }
}

function fromJson(line: string): LogEntry | undefined {
  const { time, event, ...facts } = JSON.parse(line);
  return isTime(time) && typeof event === "string" ? { time, event, facts } : undefined;
}

const FACT = / (\w+)=("(?:[^"\\]|\\.)*"|[\w.:/+-]+)/y;

function fromText(line: string): LogEntry | undefined {
  const [, time = "", said = ""] = /^(\S+) (.+)$/.exec(line) ?? [];
  if (!isTime(time)) return undefined;
  const begin = said.search(/ \w+=/);
  if (begin < 0) return { time, event: said, facts: {} };
  const facts: Record<string, string | number> = {};
  FACT.lastIndex = begin;
  for (let at = begin; at < said.length; at = FACT.lastIndex) {
    const [, key = "", value = ""] = FACT.exec(said) ?? [];
    if (key === "") return undefined;
    facts[key] = value.startsWith('"')
      ? JSON.parse(value)
      : isNumber(value)
        ? Number(value)
        : value;
  }
  return { time, event: said.slice(0, begin), facts };
}

const isTime = (text: unknown): text is string =>
  typeof text === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text);

const REMEMBERED = 256;

export function withoutRepeats(log: Log): Log {
  const said = new Set<string>();
  return (event, facts) => {
    const line = logLine(event, facts);
    if (said.has(line)) return;
    said.add(line);
    const [oldest] = said;
    if (said.size > REMEMBERED && oldest !== undefined) said.delete(oldest);
    log(event, facts);
  };
}

const MINUTE = 60e9; // ns
/** The limit holds for one kind of event and one user, container or job. */
const MAX_A_MINUTE = 100;

/** A client that comes and goes fast must neither fill the disk nor displace others' entries. */
export function limitedLog(log: Log, now: () => number): Log {
  let since = now();
  const counts = new Map<string, number>();
  return (event, facts = {}) => {
    if (now() - since >= MINUTE) {
      since = now();
      counts.clear();
    }
    const of = facts.of ?? "";
    const key = `${event} ${of}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    if (count <= MAX_A_MINUTE) log(event, facts);
    else if (count === MAX_A_MINUTE + 1)
      log("not logged", {
        event,
        of,
        because: `there were ${MAX_A_MINUTE} such lines in this minute`,
      });
  };
}
