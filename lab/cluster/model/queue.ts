// How long requests of a service take when they queue: Poisson arrivals, one GPU, first come first served, lognormal
// service times (M/G/1). The mean response time is the formula of Pollaczek and Khinchine. The distribution is computed
// once for each load, in units of the mean service time, and stored as quantiles. A pair's slowdown scales the service
// time, and with it the load. So every p99 is that of a queue.
import { STABLE_LOAD } from "#place";
import { responseQuantiles } from "./queue-distribution.ts";

/** The loads at which the queue is computed. At a higher load a backlog builds up instead. */
const LOADS = [
  0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85,
  0.9, 0.93, 0.96,
] as const;
export const TABLE_LOADS = LOADS.length;

/** Limits of the slices of the distribution, finer around the 99 % that is reported. */
const EDGES: readonly number[] = [
  ...[0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.94, 0.96, 0.975, 0.985],
  ...[0.99, 0.993, 0.996, 0.998, 0.999, 0.9997, 0.9999, 1],
];
export const KNOTS = EDGES.length;
/** The part of the requests in each slice, between two edges. */
export const sliceParts: readonly number[] = EDGES.slice(1).map(
  (edge, i) => edge - (EDGES[i] ?? 0),
);

export interface QueueTable {
  /** Standard deviation of a service time, divided by its mean. */
  readonly cv: number;
  /** For each load, the logarithm of the response time at each edge, in mean service times. */
  readonly logs: Float64Array;
}

const tables = new Map<number, QueueTable>();

/** `cv`: standard deviation of a service time, divided by its mean. A table is computed once and then reused. */
export function queueTable(cv: number): QueueTable {
  const known = tables.get(cv);
  if (known) return known;
  const logs = new Float64Array(LOADS.length * KNOTS);
  LOADS.forEach((load, index) => {
    responseQuantiles(load, cv, EDGES).forEach((response, knot) => {
      logs[index * KNOTS + knot] = Math.log(response);
    });
  });
  const table = { cv, logs };
  tables.set(cv, table);
  return table;
}

/** A response time's logarithm is nearly linear in this, between two loads of the table. */
const stretched = (load: number): number => -Math.log(1 - load);
const STRETCHED: readonly number[] = LOADS.map(stretched);

/**
 * Finds the loads of the table around a load: the index of the lower one, and how far the load is on the way to the
 * next, 0 to 1.
 */
export function placeOf(load: number): { readonly index: number; readonly part: number } {
  const bounded = Math.min(load, STABLE_LOAD);
  let index = 0;
  while (index < LOADS.length - 2 && (LOADS[index + 1] ?? 1) <= bounded) index++;
  const from = STRETCHED[index] ?? 0;
  return { index, part: (stretched(bounded) - from) / ((STRETCHED[index + 1] ?? 1) - from) };
}
