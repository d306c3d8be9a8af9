// How long requests of a service take when they queue: Poisson arrivals, one GPU, first come first served, service
// times that vary. The waiting time's tail has no closed form. So it is sampled once for each load (Lindley's
// recursion), in units of the mean service time, and stored as quantiles. A pair's slowdown scales the service time,
// and with it the load. So every p99 is that of a queue.
import { randomStream } from "./random-stream.ts";

/** The loads at which the queue is sampled. At a higher load a backlog builds up instead. */
const LOADS = [
  0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85,
  0.9, 0.93, 0.96,
] as const;
export const STABLE_LOAD = 0.96;
const SAMPLES = 100_000;
const WARM_UP = 5_000;

/**
 * Limits of the slices of the distribution, finer towards the tail: 18 up to 90 %, then nine each up to 99 % and 99.9
 * %, and the rest.
 */
const EDGES: readonly number[] = [
  ...Array.from({ length: 18 }, (_, i) => 0.05 * i),
  ...Array.from({ length: 9 }, (_, i) => 0.9 + 0.01 * i),
  ...Array.from({ length: 9 }, (_, i) => 0.99 + 0.001 * i),
  0.999,
  1,
];
export const SLICES = EDGES.length - 1;
export const sliceParts: readonly number[] = EDGES.slice(1).map(
  (edge, i) => edge - (EDGES[i] ?? 0),
);

export interface QueueTable {
  /** For each load, the logarithm of each slice's mean response time in mean service times. */
  readonly logs: Float64Array;
  readonly means: Float64Array;
}

const tables = new Map<number, QueueTable>();

/** `cv`: standard deviation of a service time, divided by its mean. A table is sampled once and then reused. */
export function queueTable(cv: number): QueueTable {
  const table = tables.get(cv) ?? sampleQueue(cv);
  tables.set(cv, table);
  return table;
}

/** All loads get the same requests, at shorter distances. */
function sampleQueue(cv: number): QueueTable {
  const { normal, exponential } = randomStream(0, "queue");
  const sigma = Math.sqrt(Math.log(1 + cv * cv));
  const draws = WARM_UP + SAMPLES;
  const services = new Float64Array(draws);
  const gaps = new Float64Array(draws);
  for (let i = 0; i < draws; i++) {
    services[i] = Math.exp(sigma * normal() - (sigma * sigma) / 2);
    gaps[i] = exponential();
  }
  const logs = new Float64Array(LOADS.length * SLICES);
  const means = new Float64Array(LOADS.length);
  LOADS.forEach((load, index) => {
    const responses = respond(load, services, gaps);
    means[index] = responses.reduce((sum, one) => sum + one, 0) / responses.length;
    responses.sort();
    for (let slice = 0; slice < SLICES; slice++) {
      const from = Math.floor((EDGES[slice] ?? 0) * SAMPLES);
      const to = Math.max(from + 1, Math.floor((EDGES[slice + 1] ?? 1) * SAMPLES));
      let sum = 0;
      for (let i = from; i < to; i++) sum += responses[i] ?? 0;
      logs[index * SLICES + slice] = Math.log(sum / (to - from));
    }
  });
  return { logs, means };
}

function respond(load: number, services: Float64Array, gaps: Float64Array): Float64Array {
  const responses = new Float64Array(SAMPLES);
  let wait = 0;
  services.forEach((own, i) => {
    if (i >= WARM_UP) responses[i - WARM_UP] = wait + own;
    wait = load > 0 ? Math.max(0, wait + own - (gaps[i] ?? 0) / load) : 0;
  });
  return responses;
}

/**
 * Finds the sampled loads around a load: the index of the lower one, and how far the load is on the way to the next, 0
 * to 1.
 */
export function placeOf(load: number): { readonly index: number; readonly part: number } {
  const bounded = Math.min(load, STABLE_LOAD);
  let index = 0;
  while (index < LOADS.length - 2 && (LOADS[index + 1] ?? 1) <= bounded) index++;
  const from = LOADS[index] ?? 0;
  return { index, part: (bounded - from) / ((LOADS[index + 1] ?? 1) - from) };
}

/** Mean response time, in mean service times. */
export function meanResponse({ means }: QueueTable, load: number): number {
  const { index, part } = placeOf(load);
  return (means[index] ?? 1) * (1 - part) + (means[index + 1] ?? 1) * part;
}

/**
 * The mean response time of such a queue, in mean service times, by the formula of Pollaczek and Khinchine. Schedulers
 * use it.
 */
export const expectedResponse = (load: number, cv: number): number => {
  const stable = Math.min(load, STABLE_LOAD);
  return 1 + (stable * (1 + cv * cv)) / (2 * (1 - stable));
};
