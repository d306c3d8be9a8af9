// A trace begins with its earliest row, even if that row is filtered out, so that the same window
// of two clients is the same time. Rows may come in any order.
import { inMessage, usage } from "#core";

const units = ["s", "ms", "us", "ns", "iso"] as const;
/** `iso`: a timestamp such as 2023-11-16 18:17:03.9799600, without a zone taken for UTC. */
type Unit = (typeof units)[number];

export interface Trace {
  readonly path: string;
  readonly column: string;
  readonly unit: Unit;
  readonly where?: { readonly column: string; readonly value: string };
  readonly from?: number; // seconds from the trace's start
  readonly seconds?: number; // the end is not included; undefined: to the last row
  /** Requests a second: time is stretched until the window's mean is this. */
  readonly rate?: number;
}

export interface Schedule {
  readonly offsets: readonly number[]; // ns from the start, sorted, whole
  readonly seconds: number; // the mean rate is the number of offsets divided by this
}

/** `PATH?column=t_ms&unit=ms&where=client=a&from=10&seconds=60` */
export function parseTrace(text: string, rate: number | undefined): Trace {
  const [path = "", query = ""] = text.split("?", 2);
  if (path === "") throw usage("--arrivals trace: lacks a path.", form);
  const given = new Map(new URLSearchParams(query));
  for (const key of given.keys())
    if (!known.has(key)) throw usage(`A trace has no "${key}".`, form);
  const column = given.get("column");
  const unit = units.find((one) => one === given.get("unit"));
  if (!column) throw usage("--arrivals trace: lacks the column with the times.", form);
  if (!unit) throw usage(`--arrivals trace: needs a unit of ${units.join(", ")}.`, form);
  const only = given.get("where");
  const from = given.get("from");
  const seconds = given.get("seconds");
  return {
    path,
    column,
    unit,
    ...(only !== undefined && { where: parseWhere(only) }),
    ...(from !== undefined && { from: secondsOf(from, "from") }),
    ...(seconds !== undefined && { seconds: secondsOf(seconds, "seconds") }),
    ...(rate !== undefined && { rate }),
  };
}

const known = new Set(["column", "unit", "where", "from", "seconds"]);
const form =
  "Write trace:PATH?column=NAME&unit=s|ms|us|ns|iso[&where=NAME=VALUE][&from=S&seconds=S].";

function parseWhere(text: string) {
  const at = text.indexOf("=");
  if (at < 1) throw usage(`"${text}" is not a condition such as client=a.`);
  return { column: text.slice(0, at), value: text.slice(at + 1) };
}

function secondsOf(text: string, what: string): number {
  const seconds = text.trim() === "" ? Number.NaN : Number(text);
  if (!(seconds >= 0 && seconds < Number.POSITIVE_INFINITY))
    throw usage(`"${text}" is no number of seconds for a trace's ${what}.`);
  return seconds;
}

export interface TraceRequest {
  readonly offset: number; // ns from the start, whole
  readonly counts: readonly number[]; // the order is that of the columns asked for
}

export function traceSchedule(text: string, trace: Trace): Schedule {
  const { requests, seconds } = traceRequests(text, trace, []);
  return { offsets: requests.map(({ offset }) => offset), seconds };
}

export function traceRequests(
  text: string,
  trace: Trace,
  columns: readonly string[],
): { readonly requests: readonly TraceRequest[]; readonly seconds: number } {
  const rows = readRows(text, trace, columns);
  const times = rows.map(({ ns }) => ns).sort((a, b) => (a < b ? -1 : Number(a > b)));
  const [first = 0n, last = first] = [times[0], times.at(-1)];
  const begin = Math.round((trace.from ?? 0) * nsPerSecond);
  const length =
    trace.seconds === undefined
      ? Number(last - first) - begin
      : Math.round(trace.seconds * nsPerSecond);
  const inside = (offset: number) =>
    offset >= 0 && (offset < length || (trace.seconds === undefined && offset === length));
  const requests = rows
    .filter(({ chosen }) => chosen)
    .map(({ ns, counts }) => ({ offset: Number(ns - first) - begin, counts }))
    .filter(({ offset }) => inside(offset))
    .sort((a, b) => a.offset - b.offset);
  if (requests.length === 0) throw nothingIn(trace);
  return stretch(requests, length, trace);
}

function stretch(
  requests: readonly TraceRequest[],
  length: number,
  { path, rate }: Trace,
): ReturnType<typeof traceRequests> {
  if (rate === undefined) return { requests, seconds: length / nsPerSecond };
  if (length <= 0)
    throw usage(`${path} has all its rows at one instant, so it has no rate to scale.`);
  const seconds = requests.length / rate;
  const factor = (seconds * nsPerSecond) / length;
  return {
    requests: requests.map(({ offset, counts }) => ({
      offset: Math.floor(offset * factor),
      counts,
    })),
    seconds,
  };
}

const nsPerSecond = 1e9;
const decimals = { s: 9, ms: 6, us: 3, ns: 0 }; // they are whole ns

interface Row {
  /** A bigint, because ns since 1970 are more than a double holds exactly. */
  readonly ns: bigint;
  readonly chosen: boolean;
  readonly counts: readonly number[];
}

function readRows(text: string, trace: Trace, columns: readonly string[]): readonly Row[] {
  const { path, column, where } = trace;
  const [head = "", ...lines] = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const header = fields(head);
  const at = columnAt(header, column, path);
  const filterAt = where && columnAt(header, where.column, path);
  const countsAt = columns.map((name) => columnAt(header, name, path));
  const rows: Row[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const row = fields(line);
    rows.push({
      ns: timeOf(row[at] ?? "", trace, index + 2),
      chosen: filterAt === undefined || row[filterAt] === where?.value,
      counts: countsAt.map((place, i) =>
        countOf(row[place] ?? "", path, columns[i] ?? "", index + 2),
      ),
    });
  }
  if (rows.length === 0) throw usage(`${path} has no rows below its header.`);
  return rows;
}

function columnAt(header: readonly string[], column: string, path: string): number {
  const at = header.indexOf(column);
  if (at < 0)
    throw usage(
      `${path} has no column "${column}" in its first line: "${inMessage(header.join(","))}".`,
    );
  return at;
}

/** Quoted fields may hold commas, but no line breaks. */
function fields(line: string): string[] {
  if (!line.includes('"')) return line.split(",").map((field) => field.trim());
  const found = line.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return [...found].map(([, quoted, plain = ""]) => quoted?.replaceAll('""', '"') ?? plain.trim());
}

function timeOf(text: string, { path, column, unit }: Trace, line: number): bigint {
  const wrong = (what: string) => usage(`${path}, line ${line}: ${column} ${what}.`);
  if (text === "") throw wrong("is missing");
  if (unit === "iso") {
    const ns = timestamp(text);
    if (ns === undefined)
      throw wrong(`is "${text}", not a timestamp such as 2023-11-16 18:17:03.9799600`);
    return ns;
  }
  const time = Number(text);
  if (!Number.isFinite(time)) throw wrong(`is "${text}", not a number of ${unit}`);
  if (time < 0) throw wrong(`is negative (${text})`);
  const [, whole, fraction] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  return whole === undefined
    ? BigInt(Math.round(time * 10 ** decimals[unit]))
    : shiftPoint(whole, fraction, decimals[unit]);
}

function countOf(text: string, path: string, column: string, line: number): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw usage(`${path}, line ${line}: ${column} is "${text}", not a whole number.`);
}

/** The result is exact where a double is not. */
const shiftPoint = (whole: string, fraction = "", places: number): bigint =>
  BigInt(whole + fraction.padEnd(places, "0").slice(0, places));

/** Date.parse does not promise to read more than three decimals. */
function timestamp(text: string): bigint | undefined {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?\s*(Z|[+-]\d\d:?\d\d)?$/.exec(
    text,
  );
  if (!match) return undefined;
  const [, day, time, fraction, zone = "Z"] = match;
  const ms = Date.parse(`${day}T${time}${zone.replace(/(\d\d)(\d\d)$/, "$1:$2")}`);
  if (Number.isNaN(ms)) return undefined;
  return shiftPoint(`${ms / 1000}`, fraction, 9);
}

function nothingIn({ path, where, from = 0, seconds }: Trace) {
  const whose = where ? ` whose ${where.column} is "${where.value}"` : "";
  const end = seconds === undefined ? "its end" : `${from + seconds} s`;
  const when = from > 0 || seconds !== undefined ? ` between ${from} s and ${end}` : "";
  return usage(`${path} has no row${whose}${when}.`);
}
