// Histograms in Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats/).

/** Counts up to and including each bound, in the metric's own unit; the last bound is Infinity. */
export type Cumulative = ReadonlyMap<number, number>;

const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;
const BUCKET = "_bucket{";

/** The labels of `a="1",b="2"`. */
export const prometheusLabels = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(LABEL)].map(([, name = "", value = ""]) => [name, value]));

/** Prometheus counts in seconds, unless the metric's name says otherwise. In ms. */
export function prometheusUnitMs(name: string): number {
  if (/_(us|microseconds)$/.test(name)) return 1e-3;
  return /_(ms|milliseconds)$/.test(name) ? 1 : 1e3;
}

/**
 * By name, the sum of all series of a histogram that `chosen` accepts by their labels. A name without such a series is
 * left out. One pass over the text, because an engine's metrics are a hundred kilobytes that are read every second.
 */
export function readHistograms(
  text: string,
  names: ReadonlySet<string>,
  chosen: (labels: ReadonlyMap<string, string>) => boolean = () => true,
): ReadonlyMap<string, Cumulative> {
  const sums = new Map<string, Map<number, number>>();
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n", from);
    const line = text.slice(from, end < 0 ? text.length : end);
    from = end < 0 ? text.length : end + 1;
    const at = line.indexOf(BUCKET);
    if (at < 0 || !names.has(line.slice(0, at))) continue;
    const close = line.lastIndexOf("}");
    const labels = prometheusLabels(line.slice(at + BUCKET.length, close));
    // A time may follow the value.
    const value = Number(
      line
        .slice(close + 1)
        .trim()
        .split(/\s+/)[0],
    );
    const bound = Number((labels.get("le") ?? "").replace(/^\+?Inf$/, "Infinity"));
    if (!Number.isFinite(value) || Number.isNaN(bound) || !labels.has("le") || !chosen(labels))
      continue;
    const name = line.slice(0, at);
    const own = sums.get(name) ?? new Map<number, number>();
    sums.set(name, own.set(bound, (own.get(bound) ?? 0) + value));
  }
  return new Map(
    [...sums].map(([name, own]) => [name, new Map([...own].sort(([a], [b]) => a - b))]),
  );
}
