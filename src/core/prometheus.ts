// Three formats are read: the classic one, OpenMetrics, whose lines may end with an exemplar, and
// names in quotes, which Prometheus 3 writes inside the braces
// (https://prometheus.io/docs/instrumenting/exposition_formats/,
// https://prometheus.io/docs/specs/om/open_metrics_spec/).

export type Cumulative = ReadonlyMap<number, number>;

export interface Histogram {
  readonly upTo: Cumulative; // empty without buckets
  readonly sum: number; // in the metric's unit; NaN if the series has none
  readonly count: number;
}

export type HistogramSeries = ReadonlyMap<string, Histogram>; // the keys are labels without `le`

const NAME = /[a-zA-Z_:][a-zA-Z0-9_:]*/y;
/** Braces in a label's value end nothing. */
const BRACES = /\s*\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\}/y;
const QUOTED_NAME = /^\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)/;
const VALUE = /\s*(\S+)/y;
const LABEL = /(?:([a-zA-Z_][a-zA-Z0-9_]*)|"((?:[^"\\]|\\.)*)")\s*=\s*"((?:[^"\\]|\\.)*)"/g;

export const prometheusLabels = (text: string): ReadonlyMap<string, string> =>
  new Map(
    [...text.matchAll(LABEL)].map(([, bare, quoted = "", value = ""]) => [bare ?? quoted, value]),
  );

/** Prometheus counts in seconds, unless the metric's name says otherwise. */
export function prometheusUnitMs(name: string): number {
  if (/_(us|microseconds)$/.test(name)) return 1e-3;
  return /_(ms|milliseconds)$/.test(name) ? 1 : 1e3;
}

interface Sample {
  readonly name: string;
  readonly labels: string;
  readonly value: number;
}

// An engine's metrics are a hundred kilobytes that are read every second, so a line is only parsed
// if its name is chosen.
function* samplesOf(text: string, isChosen: (name: string) => boolean): Generator<Sample> {
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n", from);
    const line = text.slice(from, end < 0 ? text.length : end);
    from = end < 0 ? text.length : end + 1;
    const sample = sampleOf(line, isChosen);
    if (sample) yield sample;
  }
}

function sampleOf(line: string, isChosen: (name: string) => boolean): Sample | undefined {
  const [bare] = at(NAME, line, 0) ?? [];
  if (bare !== undefined ? !isChosen(bare) : !line.startsWith("{")) return undefined;
  const begin = bare?.length ?? 0;
  const [braces = "", inside = ""] = at(BRACES, line, begin) ?? [];
  const [whole = "", quoted] = bare === undefined ? (QUOTED_NAME.exec(inside) ?? []) : [];
  const name = bare ?? quoted;
  if (name === undefined || !isChosen(name)) return undefined;
  // A time may follow the value, and an exemplar, which has braces and a value of its own.
  const [, number] = at(VALUE, line, begin + braces.length) ?? [];
  const value = Number(number);
  return Number.isFinite(value) ? { name, labels: inside.slice(whole.length), value } : undefined;
}

function at(pattern: RegExp, text: string, from: number): RegExpExecArray | null {
  pattern.lastIndex = from;
  return pattern.exec(text);
}

/** Sums the first of these metrics that the text has. */
export function readTotal(text: string, names: readonly string[]): number | undefined {
  const totals = new Map<string, number>();
  for (const { name, value } of samplesOf(text, (name) => names.includes(name)))
    totals.set(name, (totals.get(name) ?? 0) + value);
  const first = names.find((name) => totals.has(name));
  return first === undefined ? undefined : totals.get(first);
}

interface Parts {
  readonly upTo: Map<number, number>;
  sum: number;
  count: number;
}

export function readHistograms(
  text: string,
  names: ReadonlySet<string>,
  chosen: (labels: ReadonlyMap<string, string>) => boolean = () => true,
): ReadonlyMap<string, HistogramSeries> {
  const found = new Map<string, Map<string, Parts>>();
  for (const sample of samplesOf(text, (name) => names.has(baseOf(name)))) {
    const labels = prometheusLabels(sample.labels);
    if (!chosen(labels)) continue;
    const name = baseOf(sample.name);
    const bound = Number(labels.get("le")?.replace(/^\+?Inf$/, "Infinity") ?? Number.NaN);
    const isBucket = sample.name.endsWith("_bucket");
    if (isBucket && Number.isNaN(bound)) continue;
    const series = found.get(name) ?? new Map<string, Parts>();
    found.set(name, series);
    const key = keyOf(labels);
    const parts = series.get(key) ?? { upTo: new Map(), sum: Number.NaN, count: Number.NaN };
    series.set(key, parts);
    if (isBucket) parts.upTo.set(bound, sample.value);
    else if (sample.name.endsWith("_sum")) parts.sum = sample.value;
    else parts.count = sample.value;
  }
  return new Map(
    [...found].flatMap(([name, series]): [string, HistogramSeries][] => {
      const whole = new Map([...series].flatMap(([key, parts]) => histogramOf(key, parts)));
      return whole.size > 0 ? [[name, whole]] : [];
    }),
  );
}

const PARTS = /_(?:bucket|sum|count)$/;
const baseOf = (name: string): string => (PARTS.test(name) ? name.replace(PARTS, "") : "");

const keyOf = (labels: ReadonlyMap<string, string>): string =>
  [...labels]
    .filter(([label]) => label !== "le")
    .map(([label, value]) => `${label}="${value}"`)
    .sort()
    .join();

function histogramOf(key: string, { upTo, sum, count }: Parts): [string, Histogram][] {
  const sorted = new Map([...upTo].sort(([a], [b]) => a - b));
  const values = Number.isNaN(count) ? [...sorted.values()].at(-1) : count;
  return values === undefined ? [] : [[key, { upTo: sorted, sum, count: values }]];
}

export const sumOfSeries = (series: HistogramSeries): Histogram =>
  [...series.values()].reduce(plus, noValues);

const noValues: Histogram = { upTo: new Map(), sum: 0, count: 0 };

function plus(one: Histogram, other: Histogram): Histogram {
  const upTo = new Map(one.upTo);
  for (const [bound, count] of other.upTo) upTo.set(bound, (upTo.get(bound) ?? 0) + count);
  return {
    upTo: new Map([...upTo].sort(([a], [b]) => a - b)),
    sum: one.sum + other.sum,
    count: one.count + other.count,
  };
}

/**
 * Each series counts by itself: a new one may have a past, so its values count from the next
 * reading on, and one that is gone takes nothing away from the others. If counts went down, the
 * series began again.
 */
export const valuesSince = (before: HistogramSeries, now: HistogramSeries): Histogram =>
  [...now].reduce((total, [key, to]) => {
    const from = before.get(key);
    return from ? plus(total, difference(from, to)) : total;
  }, emptyLike(now));

function difference(from: Histogram, to: Histogram): Histogram {
  const isReset =
    to.count < from.count || [...to.upTo].some(([bound, n]) => n < (from.upTo.get(bound) ?? 0));
  if (isReset) return to;
  return {
    upTo: new Map([...to.upTo].map(([bound, n]) => [bound, n - (from.upTo.get(bound) ?? 0)])),
    sum: to.sum - from.sum,
    count: to.count - from.count,
  };
}

const emptyLike = (series: HistogramSeries): Histogram => ({
  ...noValues,
  upTo: new Map([...sumOfSeries(series).upTo.keys()].map((bound) => [bound, 0])),
});
