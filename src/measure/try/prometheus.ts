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
  readonly name: string; // without _bucket
  readonly labels: ReadonlyMap<string, string>;
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

/** undefined if no histogram has the labels. */
export function readSeries(text: string, { name, labels }: Metric): HistogramSeries | undefined {
  const chosen = readHistograms(text, new Set([name]), (own) =>
    [...labels].every(([label, wanted]) => own.get(label) === wanted),
  ).get(name);
  return [...(chosen?.values() ?? [])].some(({ upTo }) => upTo.size > 0) ? chosen : undefined;
}

/** A bucket's latencies are taken to lie evenly in it. */
const PLACES = 32;

/**
 * A series that is gone takes nothing away from the others; a new one counts from the next sample
 * on. Latencies over the last finite bound count as that bound, as Prometheus does. undefined if
 * counts went down: the program was restarted.
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
