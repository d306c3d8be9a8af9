// All latencies of a service in one histogram, so that a day of a thousand GPUs takes a few kilobytes. Bins have equal
// ratios and are 1 % wide. The requests between two quantiles of a queue are spread evenly over the bins between them.
// Only the change of density is noted, at the quantiles, and summed up when the histogram is read.
import {
  expectedResponse,
  KNOTS,
  placeOf,
  type QueueTable,
  STABLE_LOAD,
  sliceParts,
} from "./queue.ts";

const PER_E = 100;
/** The least latency with a bin of its own: e^-10 s is 45 us. */
const LEAST_LOG = -10;
const BINS = 2_400;

export interface Latencies {
  /** How many more requests each bin holds than the bin before it. */
  readonly rises: Float64Array;
  requests: number;
  /** In seconds, over all requests. */
  total: number;
  /** Requests that arrived when the queue was full, and those beyond what the GPU could serve then. */
  turnedAway: number;
}

export const noLatencies = (): Latencies => ({
  rises: new Float64Array(BINS + 2),
  requests: 0,
  total: 0,
  turnedAway: 0,
});

export interface Served {
  readonly requests: number;
  /** Mean service time in seconds, and the load that it causes. */
  readonly service: number;
  readonly load: number;
  /** Work that waits already when a request arrives, in seconds. */
  readonly backlog: number;
}

export function addServed(latencies: Latencies, table: QueueTable, served: Served): void {
  const { requests, service, load, backlog } = served;
  if (requests <= 0) return;
  const { index, part } = placeOf(load);
  const { logs, cv } = table;
  const shift = Math.log(service);
  const first = index * KNOTS;
  let before = 0;
  for (let knot = 0; knot < KNOTS; knot++) {
    const low = logs[first + knot] as number;
    const high = logs[first + KNOTS + knot] as number;
    let log = shift + low + (high - low) * part;
    if (backlog > 0) log = Math.log(Math.exp(log) + backlog);
    const at = Math.max(0, Math.min(BINS, (log - LEAST_LOG) * PER_E));
    if (knot > 0) addSlice(latencies.rises, before, at, requests * (sliceParts[knot - 1] ?? 0));
    before = at;
  }
  if (backlog >= LONGEST_QUEUE && load > STABLE_LOAD)
    latencies.turnedAway += requests * (1 - STABLE_LOAD / load);
  latencies.requests += requests;
  latencies.total += requests * (service * expectedResponse(load, cv) + backlog);
}

/** Spreads requests evenly from one place on the axis of bins to another; a slice is at least a bin wide. */
function addSlice(rises: Float64Array, from: number, to: number, requests: number): void {
  const width = Math.max(1, to - from);
  const density = requests / width;
  addRise(rises, (from + to - width) / 2, density);
  addRise(rises, (from + to + width) / 2, -density);
}

/** A density that begins within a bin begins partly in it and wholly in the next. */
function addRise(rises: Float64Array, at: number, density: number): void {
  const place = Math.max(0, Math.min(BINS, at));
  const bin = Math.floor(place);
  const late = place - bin;
  rises[bin] = (rises[bin] as number) + density * (1 - late);
  rises[bin + 1] = (rises[bin + 1] as number) + density * late;
}

/** In seconds. A request that would wait longer is turned away, to another GPU or with an error. */
const LONGEST_QUEUE = 1;

/** The work that waits after `seconds` of this load, in seconds. It grows only if the GPU cannot keep up. */
export const backlogAfter = (before: number, load: number, seconds: number): number =>
  Math.min(LONGEST_QUEUE, Math.max(0, before + (load - STABLE_LOAD) * seconds));

/** In seconds; undefined without requests. */
export function quantile({ rises, requests }: Latencies, part: number): number | undefined {
  if (requests <= 0) return undefined;
  let left = part * requests;
  let density = 0;
  for (let bin = 0; bin <= BINS; bin++) {
    density += rises[bin] as number;
    if (density > 0 && density >= left)
      return Math.exp(LEAST_LOG + (bin + Math.max(0, left) / density) / PER_E);
    left -= density;
  }
  return Math.exp(LEAST_LOG + BINS / PER_E);
}

/** Moves all latencies from one histogram to another. */
export function moveAll(from: Latencies, to: Latencies): void {
  from.rises.forEach((rise, bin) => {
    to.rises[bin] = (to.rises[bin] as number) + rise;
  });
  to.requests += from.requests;
  to.total += from.total;
  to.turnedAway += from.turnedAway;
  from.rises.fill(0);
  Object.assign(from, { requests: 0, total: 0, turnedAway: 0 });
}
