// All latencies of a service in one histogram, so that a day of a thousand GPUs takes a few kilobytes. Bins have equal
// ratios and are 1 % wide.
import {
  meanResponse,
  placeOf,
  type QueueTable,
  SLICES,
  STABLE_LOAD,
  sliceParts,
} from "./queue.ts";

const PER_E = 100;
/** The least latency with a bin of its own: e^-10 s is 45 us. */
const LEAST_LOG = -10;
const BINS = 2_400;

export interface Latencies {
  readonly bins: Float64Array;
  requests: number;
  /** In seconds, over all requests. */
  total: number;
  /** Requests that arrived when the queue was full, and those beyond what the GPU could serve then. */
  turnedAway: number;
}

export const noLatencies = (): Latencies => ({
  bins: new Float64Array(BINS),
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
  const shift = Math.log(service);
  for (let slice = 0; slice < SLICES; slice++) {
    const low = table.logs[index * SLICES + slice] ?? 0;
    const high = table.logs[(index + 1) * SLICES + slice] ?? 0;
    let log = shift + low + (high - low) * part;
    if (backlog > 0) log = Math.log(Math.exp(log) + backlog);
    const bin = Math.max(0, Math.min(BINS - 1, Math.round((log - LEAST_LOG) * PER_E)));
    latencies.bins[bin] = (latencies.bins[bin] ?? 0) + requests * (sliceParts[slice] ?? 0);
  }
  if (backlog >= LONGEST_QUEUE && load > STABLE_LOAD)
    latencies.turnedAway += requests * (1 - STABLE_LOAD / load);
  latencies.requests += requests;
  latencies.total += requests * (service * meanResponse(table, load) + backlog);
}

/** In seconds. A request that would wait longer is turned away, to another GPU or with an error. */
const LONGEST_QUEUE = 1;

/** The work that waits after `seconds` of this load, in seconds. It grows only if the GPU cannot keep up. */
export const backlogAfter = (before: number, load: number, seconds: number): number =>
  Math.min(LONGEST_QUEUE, Math.max(0, before + (load - STABLE_LOAD) * seconds));

/** In seconds; undefined without requests. */
export function quantile({ bins, requests }: Latencies, part: number): number | undefined {
  let left = part * requests;
  for (const [bin, count] of bins.entries()) {
    left -= count;
    if (count > 0 && left <= 1e-9 * requests) return Math.exp(LEAST_LOG + bin / PER_E);
  }
  return undefined;
}

export function addAll(to: Latencies, from: Latencies): void {
  from.bins.forEach((count, bin) => {
    to.bins[bin] = (to.bins[bin] ?? 0) + count;
  });
  to.requests += from.requests;
  to.total += from.total;
  to.turnedAway += from.turnedAway;
}
