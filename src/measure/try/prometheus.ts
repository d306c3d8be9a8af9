// A histogram of latencies at a Prometheus endpoint. What was counted between two samples is one block of latencies.
import {
  type HistogramSeries,
  prometheusLabels,
  prometheusUnitMs,
  readHistograms,
  usage,
  valuesSince,
} from "#core";
import { engineMetric } from "#engines";
import type { Block } from "./samples.ts";

export interface Metric {
  /** Without _bucket. */
  readonly name: string;
  /** Labels that a series must have. */
  readonly labels: ReadonlyMap<string, string>;
  /** Milliseconds in one of its units. */
  readonly unitMs: number;
}

/** "http_request_duration_seconds", "…{handler="/predict"}", or "vllm.ttft". Throws a UserError. */
export function parseMetric(text: string): Metric {
  const found = /^([a-zA-Z_:][a-zA-Z0-9_:]*?)(?:_bucket)?(?:\{(.*)\})?$/.exec(
    engineMetric(text) ?? text.trim(),
  );
  const [, name, labels = ""] = found ?? [];
  if (name === undefined)
    throw usage(
      `--metric: "${text}" is no name of a metric.`,
      'It is written as NAME or NAME{label="value"}, or as ENGINE.ttft for an LLM server.',
    );
  return { name, labels: prometheusLabels(labels), unitMs: prometheusUnitMs(name) };
}

/** All series that have the labels. undefined if there is none, or if it is no histogram. */
export function readSeries(text: string, { name, labels }: Metric): HistogramSeries | undefined {
  const chosen = readHistograms(text, new Set([name]), (own) =>
    [...labels].every(([label, wanted]) => own.get(label) === wanted),
  ).get(name);
  return [...(chosen?.values() ?? [])].some(({ upTo }) => upTo.size > 0) ? chosen : undefined;
}

/** A bucket's latencies are taken to lie evenly in it: at so many places at most. */
const PLACES = 32;

/**
 * The counts between two samples, series by series (valuesSince). A series that is gone, as of an adapter that was
 * unloaded, takes nothing away from the others, and a new one counts from the next sample on. Latencies over the last
 * finite bound are taken for that bound, as Prometheus does. undefined if the counts of a series went down: the program
 * was restarted.
 */
export function blockBetween(
  from: HistogramSeries,
  to: HistogramSeries,
  { unitMs }: Metric,
): Block | undefined {
  const wentDown = ([key, { count }]: readonly [string, { readonly count: number }]) =>
    count < (from.get(key)?.count ?? 0);
  if ([...to].some(wentDown)) return undefined;
  const block: (readonly [number, number])[] = [];
  let [below, before] = [0, 0];
  for (const [bound, upTo] of valuesSince(from, to).upTo) {
    const count = Math.max(0, upTo - before);
    const top = Number.isFinite(bound) ? bound : below;
    const places = count === 0 ? 0 : Math.min(PLACES, Math.ceil(count));
    for (let i = 0; i < places; i++)
      block.push([(below + ((top - below) * (i + 0.5)) / places) * unitMs, count / places]);
    [below, before] = [top, upTo];
  }
  return block;
}
