import { badMetric, lacksMetric, nothingToLearn } from "./errors.ts";
import { type Features, type MetricName, metricNames } from "./metrics.ts";

export interface Side {
  readonly features: Features;
  /** It is throughput beside these neighbours, divided by solo throughput. */
  readonly retained: number;
  /** The part of the SMs that it may use, 0 to 1; 1 is unrestricted. */
  readonly smShare: number;
}

export interface Colocation {
  readonly sides: readonly Side[];
}

/** Fewer colocations than this cannot show which metric matters. */
const MIN_COLOCATIONS = 4;

/** Throws a UserError unless every side has every metric and the rows differ. */
export function checkLearnable(
  rows: readonly Colocation[],
  metrics: readonly MetricName[],
  named: (features: Features) => string = () => "A workload",
): void {
  if (metrics.length === 0) throw nothingToLearn("the workloads have no metric in common");
  if (rows.length < MIN_COLOCATIONS)
    throw nothingToLearn(`${rows.length} colocations are fewer than ${MIN_COLOCATIONS}`);
  for (const { sides } of rows) {
    if (sides.length < 2) throw nothingToLearn("a colocation has fewer than two clients");
    for (const { features, retained } of sides) {
      if (!(retained >= 0 && Number.isFinite(retained)))
        throw badMetric(named(features), "retained throughput", retained);
      for (const name of metrics) metricOf(features, name, named);
    }
  }
  const first = rows[0]?.sides[0]?.features;
  const all = rows.flatMap(({ sides }) => sides.map(({ features }) => features));
  if (all.every((features) => metrics.every((name) => features[name] === first?.[name])))
    throw nothingToLearn("all workloads have the same metrics");
}

export function metricOf(
  features: Features,
  name: MetricName,
  named: (features: Features) => string = () => "A workload",
): number {
  const value = features[name];
  if (value === undefined) throw lacksMetric(named(features), name);
  if (!(value >= 0 && Number.isFinite(value))) throw badMetric(named(features), name, value);
  return value;
}

export function sharedMetrics(all: readonly Features[]): readonly MetricName[] {
  return metricNames.filter((name) => all.every((features) => features[name] !== undefined));
}

/** Requests or iterations a second alone on the GPU; 1 if that was not measured. */
export const soloOf = (features: Features): number => features.soloThroughput ?? 1;

export const keyOf = (features: Features, metrics: readonly MetricName[]): string =>
  metrics.map((name) => features[name]).join();
