import { type DurationHistogram, durationBounds } from "../histograms/durations.ts";
import type { Status } from "../status/status.ts";
import type { Labels, Metric } from "./metric.ts";
import { metrics } from "./metrics.ts";

export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";

export function renderMetrics(status: Status): string {
  return metrics.map((metric) => `${render(metric, status).join("\n")}\n`).join("");
}

function render(metric: Metric, status: Status): readonly string[] {
  const { name, type, unit, doc } = metric;
  const head = [`# HELP ${name} ${escapeText(`${doc} (${unit})`)}`, `# TYPE ${name} ${type}`];
  return [
    ...head,
    ...(type === "histogram"
      ? metric.samples(status).flatMap(([value, labels]) => histogramLines(name, value, labels))
      : metric.samples(status).flatMap(([value, labels]) => line(name, value, labels))),
  ];
}

const line = (name: string, value: number | undefined, labels: Labels): string[] =>
  value === undefined ? [] : [`${name}${shownLabels(labels)} ${value}`];

function histogramLines(
  name: string,
  histogram: DurationHistogram | undefined,
  labels: Labels,
): string[] {
  if (!histogram) return [];
  let below = 0;
  const buckets = histogram.counts.flatMap((count, i) => {
    below += count;
    return line(`${name}_bucket`, below, { ...labels, le: String(durationBounds[i] ?? "+Inf") });
  });
  return [
    ...buckets,
    ...line(`${name}_sum`, histogram.sumSeconds, labels),
    ...line(`${name}_count`, below, labels),
  ];
}

function shownLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([label, value]) => `${label}="${escapeText(value).replaceAll('"', '\\"')}"`,
  );
  return pairs.length > 0 ? `{${pairs.join(",")}}` : "";
}

const escapeText = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

export const metricsTable = (): readonly string[] => [
  "| metric | type | unit | labels | meaning |",
  "| --- | --- | --- | --- | --- |",
  ...metrics.map(({ name, type, unit, labels, doc }) => {
    const shown = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${unit} | ${shown} | ${doc} |`;
  }),
];
