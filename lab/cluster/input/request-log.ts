// The load of a service from a log of its requests: CSV with a column `time` (seconds, or a date and time) and optionally
// `requests` (how many since the row before, or at that time; 1 by default). So each row is a request, or a count.
import { badField, emptyTrace } from "../model/errors.ts";
import { readRows, timeOf } from "./rows.ts";

/**
 * The number of requests in each step. The first row is the start, and the last row's step is the end. Throws a UserError
 * that names the row.
 */
export function readRequestLog(content: string, file: string, step: number): Float64Array {
  const rows = readRows(content, file, ["time"]);
  const requests = rows.map((row) => ({
    at: timeOf(row, "time"),
    count: row.text("requests") === "" ? 1 : row.number("requests", { least: 0 }),
    row,
  }));
  const start = requests.reduce((least, { at }) => Math.min(least, at), Number.POSITIVE_INFINITY);
  const end = requests.reduce((most, { at }) => Math.max(most, at), 0);
  if (!(end > start)) throw emptyTrace(`${file}, in which all rows have the same time,`);
  const steps = Math.floor((end - start) / step) + 1;
  if (steps > MAX_STEPS)
    throw badField(
      file,
      "time",
      `${end - start} s long`,
      `at most ${MAX_STEPS} steps of ${step} s`,
    );
  const counts = new Float64Array(steps);
  for (const { at, count } of requests) {
    const place = Math.floor((at - start) / step);
    counts[place] = (counts[place] ?? 0) + count;
  }
  return counts;
}

/** A year in minutes, so that a wrong unit of time is an error and not a lack of memory. */
const MAX_STEPS = 600_000;
