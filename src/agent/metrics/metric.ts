import type { DurationHistogram } from "../histograms/durations.ts";
import type { Status } from "../status/status.ts";

export type Labels = Readonly<Record<string, string>>;

/** Without a value the sample is left out. */
export type Sample<V> = readonly [value: V | undefined, labels: Labels];

interface Described {
  readonly name: string;
  readonly unit: string;
  readonly doc: string;
  readonly labels: readonly string[];
}

interface NumberMetric extends Described {
  readonly type: "gauge" | "counter";
  samples(status: Status): readonly Sample<number>[];
}

interface HistogramMetric extends Described {
  readonly type: "histogram";
  samples(status: Status): readonly Sample<DurationHistogram>[];
}

export type Metric = NumberMetric | HistogramMetric;

export interface Scope<Of> {
  readonly labels: readonly string[];
  find(status: Status): readonly (readonly [Of, Labels])[];
}

export type Row<Of, V = number> = readonly [
  unit: string,
  doc: string,
  value: (of: Of) => V | undefined,
];

export function rows<Of, V>(scope: Scope<Of>, table: Readonly<Record<string, Row<Of, V>>>) {
  return Object.entries(table).map(([name, [unit, doc, value]]) => ({
    name: `cotenant_${name}`,
    unit,
    doc,
    labels: scope.labels,
    samples: (status: Status) =>
      scope.find(status).map(([of, labels]): Sample<V> => [value(of), labels]),
  }));
}

export function numbers<Of>(scope: Scope<Of>, table: Readonly<Record<string, Row<Of>>>): Metric[] {
  return rows(scope, table).map((row) => ({
    ...row,
    type: row.name.endsWith("_total") ? "counter" : "gauge",
  }));
}

export function constant(
  name: string,
  doc: string,
  labels: readonly string[],
  find: (status: Status) => readonly Labels[],
): Metric {
  const samples = (status: Status) => find(status).map((found): Sample<number> => [1, found]);
  return { name: `cotenant_${name}`, type: "gauge", unit: "constant", doc, labels, samples };
}

export function oneOf<Of, W extends string>(
  name: string,
  doc: string,
  scope: Scope<Of>,
  label: string,
  values: readonly W[],
  holds: (of: Of, value: W) => boolean,
): Metric {
  return {
    name: `cotenant_${name}`,
    type: "gauge",
    unit: "0 or 1",
    doc,
    labels: [...scope.labels, label],
    samples: (status) =>
      scope
        .find(status)
        .flatMap(([of, labels]) =>
          values.map(
            (value): Sample<number> => [holds(of, value) ? 1 : 0, { ...labels, [label]: value }],
          ),
        ),
  };
}
