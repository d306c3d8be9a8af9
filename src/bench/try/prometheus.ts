// A histogram of latencies at a Prometheus endpoint. What was counted between two looks is one block of latencies.
import { usage } from "#core";
import type { Block } from "./samples.ts";

/** Counts up to and including each bound, in the metric's own unit; the last bound is Infinity. */
export type Cumulative = ReadonlyMap<number, number>;

export interface Metric {
  /** Without _bucket. */
  readonly name: string;
  /** Labels that a series must have. */
  readonly labels: ReadonlyMap<string, string>;
  /** Milliseconds in one of its units. */
  readonly unitMs: number;
}

const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

/** "http_request_duration_seconds" or "…{handler="/predict"}". Throws a UserError. */
export function parseMetric(text: string): Metric {
  const found = /^([a-zA-Z_:][a-zA-Z0-9_:]*?)(?:_bucket)?(?:\{(.*)\})?$/.exec(text.trim());
  const [, name, labels = ""] = found ?? [];
  if (name === undefined)
    throw usage(
      `--metric: "${text}" is no name of a metric.`,
      'It is written as NAME or NAME{label="value"}.',
    );
  return { name, labels: labelsOf(labels), unitMs: unitOf(name) };
}

/** Prometheus counts in seconds, unless the name says otherwise. */
function unitOf(name: string): number {
  if (/_(us|microseconds)$/.test(name)) return 1e-3;
  return /_(ms|milliseconds)$/.test(name) ? 1 : 1e3;
}

const labelsOf = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(LABEL)].map(([, name = "", value = ""]) => [name, value]));

/** The sum of all series that have the labels. undefined if there is none, or if it is no histogram. */
export function readHistogram(text: string, { name, labels }: Metric): Cumulative | undefined {
  const sums = new Map<number, number>();
  for (const line of text.split("\n")) {
    const [, series = "", value = ""] =
      /^([a-zA-Z_:][a-zA-Z0-9_:]*_bucket\{.*\})\s+(\S+)/.exec(line) ?? [];
    if (!series.startsWith(`${name}_bucket{`)) continue;
    const own = labelsOf(series);
    if ([...labels].some(([label, wanted]) => own.get(label) !== wanted)) continue;
    const bound = Number((own.get("le") ?? "").replace(/^\+?Inf$/, "Infinity"));
    sums.set(bound, (sums.get(bound) ?? 0) + Number(value));
  }
  return sums.size === 0 ? undefined : new Map([...sums].sort(([a], [b]) => a - b));
}

/** A bucket's latencies are taken to lie evenly in it: at so many places at most. */
const PLACES = 32;

/**
 * What was counted between two looks. Latencies over the last finite bound are taken for that bound, as Prometheus does.
 * undefined if the counts went down: the program was started again.
 */
export function blockBetween(
  from: Cumulative,
  to: Cumulative,
  { unitMs }: Metric,
): Block | undefined {
  const block: (readonly [number, number])[] = [];
  let [below, before] = [0, 0];
  for (const [bound, total] of to) {
    const upTo = total - (from.get(bound) ?? 0);
    const count = upTo - before;
    if (count < 0) return undefined;
    const top = Number.isFinite(bound) ? bound : below;
    const places = count === 0 ? 0 : Math.min(PLACES, Math.ceil(count));
    for (let i = 0; i < places; i++)
      block.push([(below + ((top - below) * (i + 0.5)) / places) * unitMs, count / places]);
    [below, before] = [top, upTo];
  }
  return block;
}
