// Histograms in Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats/).

/** Counts up to and including each bound, in the metric's own unit; the last bound is Infinity. */
export type Cumulative = ReadonlyMap<number, number>;

export interface Histogram {
  readonly upTo: Cumulative;
  /** Of all values, in the metric's own unit; NaN if the series has none. */
  readonly sum: number;
}

const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;
const SERIES = /^([a-zA-Z_:][a-zA-Z0-9_:]*)_(bucket|sum)[{ ]/;

/** The labels of `a="1",b="2"`. */
export const prometheusLabels = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(LABEL)].map(([, name = "", value = ""]) => [name, value]));

/** Prometheus counts in seconds, unless the metric's name says otherwise. In ms. */
export function prometheusUnitMs(name: string): number {
  if (/_(us|microseconds)$/.test(name)) return 1e-3;
  return /_(ms|milliseconds)$/.test(name) ? 1 : 1e3;
}

/** The sum of all series of the first of these gauges that the text has; undefined: it has none. */
export function readGauge(text: string, names: readonly string[]): number | undefined {
  for (const name of names) {
    const series = [...text.matchAll(new RegExp(`^${name}(?:\\{[^\\n]*\\})? (\\S+)`, "gm"))];
    const values = series.map(([, value]) => Number(value)).filter(Number.isFinite);
    if (values.length > 0) return values.reduce((sum, value) => sum + value, 0);
  }
  return undefined;
}

/**
 * By name, the sum of all series of a histogram that `chosen` accepts by their labels. A name without such a series is
 * left out. One pass over the text, because an engine's metrics are a hundred kilobytes that are read every second.
 */
export function readHistograms(
  text: string,
  names: ReadonlySet<string>,
  chosen: (labels: ReadonlyMap<string, string>) => boolean = () => true,
): ReadonlyMap<string, Histogram> {
  const buckets = new Map<string, Map<number, number>>();
  const sums = new Map<string, number>();
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n", from);
    const line = text.slice(from, end < 0 ? text.length : end);
    from = end < 0 ? text.length : end + 1;
    const [, name = "", part] = SERIES.exec(line) ?? [];
    if (!names.has(name)) continue;
    const close = line.lastIndexOf("}");
    const labels = prometheusLabels(line.slice(name.length, close + 1));
    // A time may follow the value.
    const [number = ""] = line
      .slice(Math.max(close, line.indexOf(" ")) + 1)
      .trim()
      .split(/\s+/);
    const value = Number(number);
    if (number === "" || !Number.isFinite(value) || !chosen(labels)) continue;
    if (part === "sum") {
      sums.set(name, (sums.get(name) ?? 0) + value);
      continue;
    }
    const bound = Number((labels.get("le") ?? "").replace(/^\+?Inf$/, "Infinity"));
    if (Number.isNaN(bound) || !labels.has("le")) continue;
    const own = buckets.get(name) ?? new Map<number, number>();
    buckets.set(name, own.set(bound, (own.get(bound) ?? 0) + value));
  }
  return new Map(
    [...buckets].map(([name, own]) => [
      name,
      {
        upTo: new Map([...own].sort(([a], [b]) => a - b)),
        sum: sums.get(name) ?? Number.NaN,
      },
    ]),
  );
}
