// All latencies of a service in one histogram, so that a day of a thousand GPUs takes a few kilobytes. Bins have equal
// ratios and are 1 % wide. The requests between two quantiles of a queue are spread evenly over the bins between them.
// Only the change of density is noted, at the quantiles, and summed up when the histogram is read.
//
// Most GPUs of a service have one of few service times, and their loads are similar. So requests without a backlog are
// first counted by service time and load, and enter the histogram together.
import { expectedResponse, STABLE_LOAD } from "#place";
import { KNOTS, placeOf, type QueueTable, sliceParts, TABLE_LOADS } from "./queue.ts";

const PER_E = 100;
/** The least latency with a bin of its own: e^-10 s is 45 us. */
const MIN_LOG = -10;
const BINS = 2_400;

/** Loads at which requests are counted, between two loads of the queue's table. Requests are divided between two. */
const LOADS_BETWEEN = 16;
/** With more service times than this, what was counted enters the histogram at once. */
const MAX_TIMES = 256;

export interface Latencies {
  readonly table: QueueTable;
  /** By service time in seconds: requests that are not in the histogram yet, at each load. */
  readonly counted: Map<number, Float64Array>;
  /** How many more requests each bin holds than the bin before it. */
  readonly rises: Float64Array;
  requests: number;
  /** In seconds, over all requests. */
  total: number;
  /** Requests that arrived when the queue was full, and those beyond what the GPU could serve then. */
  turnedAway: number;
}

export const noLatencies = (table: QueueTable): Latencies => ({
  table,
  counted: new Map(),
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

export function addServed(latencies: Latencies, served: Served): void {
  const { requests, service, load, backlog } = served;
  if (requests <= 0) return;
  const { index, part } = placeOf(load);
  if (backlog > 0) spread(latencies, served, index, part);
  else count(latencies, service, requests, (index + part) * LOADS_BETWEEN);
  if (backlog >= LONGEST_QUEUE && load > STABLE_LOAD)
    latencies.turnedAway += requests * (1 - STABLE_LOAD / load);
  latencies.requests += requests;
  latencies.total += requests * (service * expectedResponse(load, latencies.table.cv) + backlog);
}

/** `place`: on the axis of loads at which requests are counted. */
function count(latencies: Latencies, service: number, requests: number, place: number): void {
  let byLoad = latencies.counted.get(service);
  if (!byLoad) {
    if (latencies.counted.size >= MAX_TIMES) spreadCounted(latencies);
    byLoad = new Float64Array(TABLE_LOADS * LOADS_BETWEEN + 1);
    latencies.counted.set(service, byLoad);
  }
  const lower = Math.floor(place);
  const upper = place - lower;
  byLoad[lower] = (byLoad[lower] as number) + requests * (1 - upper);
  byLoad[lower + 1] = (byLoad[lower + 1] as number) + requests * upper;
}

function spreadCounted(latencies: Latencies): void {
  for (const [service, byLoad] of latencies.counted)
    byLoad.forEach((requests, place) => {
      if (requests <= 0) return;
      const index = Math.min(TABLE_LOADS - 2, Math.floor(place / LOADS_BETWEEN));
      const part = place / LOADS_BETWEEN - index;
      spread(latencies, { requests, service, backlog: 0 }, index, part);
    });
  latencies.counted.clear();
}

/** Spreads requests over the histogram. `index` and `part`: the load's place in the queue's table, as of `placeOf`. */
function spread(
  { rises, table: { logs } }: Latencies,
  { requests, service, backlog }: Omit<Served, "load">,
  index: number,
  part: number,
): void {
  const shift = Math.log(service);
  const first = index * KNOTS;
  let before = 0;
  for (let knot = 0; knot < KNOTS; knot++) {
    const low = logs[first + knot] as number;
    const high = logs[first + KNOTS + knot] as number;
    let log = shift + low + (high - low) * part;
    if (backlog > 0) log = Math.log(Math.exp(log) + backlog);
    const at = Math.max(0, Math.min(BINS, (log - MIN_LOG) * PER_E));
    if (knot > 0) addSlice(rises, before, at, requests * (sliceParts[knot - 1] ?? 0));
    before = at;
  }
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
export function quantile(latencies: Latencies, part: number): number | undefined {
  const { rises, requests } = latencies;
  if (requests <= 0) return undefined;
  spreadCounted(latencies);
  let left = part * requests;
  let density = 0;
  for (let bin = 0; bin <= BINS; bin++) {
    density += rises[bin] as number;
    if (density > 0 && density >= left)
      return Math.exp(MIN_LOG + (bin + Math.max(0, left) / density) / PER_E);
    left -= density;
  }
  return Math.exp(MIN_LOG + BINS / PER_E);
}

/** Moves all latencies from one histogram to another. */
export function moveAll(from: Latencies, to: Latencies): void {
  spreadCounted(from);
  from.rises.forEach((rise, bin) => {
    to.rises[bin] = (to.rises[bin] as number) + rise;
  });
  to.requests += from.requests;
  to.total += from.total;
  to.turnedAway += from.turnedAway;
  from.rises.fill(0);
  Object.assign(from, { requests: 0, total: 0, turnedAway: 0 });
}
