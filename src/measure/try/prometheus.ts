// A histogram of latencies at a Prometheus endpoint. What was counted between two looks is one block of latencies.
import {
  type Cumulative,
  prometheusLabels,
  prometheusUnitMs,
  readHistograms,
  sumOfSeries,
  usage,
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

/** The sum of all series that have the labels. undefined if there is none, or if it is no histogram. */
export function readHistogram(text: string, { name, labels }: Metric): Cumulative | undefined {
  const chosen = readHistograms(text, new Set([name]), (own) =>
    [...labels].every(([label, wanted]) => own.get(label) === wanted),
  ).get(name);
  const { upTo } = sumOfSeries(chosen ?? new Map());
  return upTo.size > 0 ? upTo : undefined;
}

/** A bucket's latencies are taken to lie evenly in it: at so many places at most. */
const PLACES = 32;

/**
 * The counts between two samples. Latencies over the last finite bound are taken for that bound, as Prometheus does.
 * undefined if the counts went down: the program was restarted.
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
