import { readJson } from "#core";
import { type Colocation, checkLearnable } from "./data/colocations.ts";
import { badModel } from "./data/errors.ts";
import { type Features, type MetricName, metricNames } from "./data/metrics.ts";
import type { Predictor } from "./data/predictor.ts";
import { type LearnerName, learnerNames, learners, type Training } from "./learners.ts";

export interface Provenance {
  readonly source: string;
  /** It is as the bench names it (docs/guide/prediction.md); undefined: not known. */
  readonly arrangement?: string | undefined;
  readonly date: string;
  readonly command: string;
}

export interface Model {
  readonly version: 1;
  readonly kind: "cotenant-predictor";
  readonly learner: LearnerName;
  readonly metrics: readonly MetricName[];
  readonly provenance: Provenance & { readonly colocations: number; readonly seed: number };
  readonly state: unknown;
}

export function train(
  learner: LearnerName,
  rows: readonly Colocation[],
  metrics: readonly MetricName[],
  training: Training,
  provenance: Provenance,
  named?: (features: Features) => string,
): Model {
  checkLearnable(rows, metrics, named);
  return {
    version: 1,
    kind: "cotenant-predictor",
    learner,
    metrics,
    provenance: { ...provenance, colocations: rows.length, seed: training.seed },
    state: learners[learner].train(rows, metrics, training),
  };
}

export const openModel = ({ learner, metrics, state }: Model): Predictor =>
  learners[learner].open(state, metrics);

/** Lists of numbers stay on one line. */
export function formatModel(model: Model): string {
  const lines = JSON.stringify(model, null, 1);
  return `${lines.replaceAll(/\[[-\d.,e+\s]*\]/g, (list) => list.replaceAll(/\s+/g, ""))}\n`;
}

/** Throws a UserError that names `file` if it is not a model, or a model that cannot predict. */
export function parseModel(text: string, file: string): Model {
  const model = documentIn(text, file);
  try {
    // JSON has null in place of NaN and Infinity, and arithmetic would treat null as 0.
    if (hasNull(model.state)) throw new RangeError("it has no value somewhere");
    const { workloads } = model.state as { readonly workloads: readonly (readonly number[])[] };
    const [first] = workloads.map(
      (values): Features => Object.fromEntries(model.metrics.map((name, k) => [name, values[k]])),
    );
    const { retained, low, high } = openModel(model).predict(first ?? {}, [first ?? {}]);
    if (!Number.isFinite(retained + low + high)) throw new RangeError("no finite prediction");
  } catch (error) {
    const why = error instanceof Error ? ` (${error.message})` : "";
    throw badModel(file, "", `what it learned is damaged${why}.`);
  }
  return model;
}

const hasNull = (value: unknown): boolean =>
  value === null || (typeof value === "object" && Object.values(value).some(hasNull));

function documentIn(text: string, file: string): Model {
  const whole = readJson(text, file, badModel);
  if (whole.at("kind").value !== "cotenant-predictor") throw whole.bad("it is no predictor.");
  whole.at("version").one([1]);
  whole.at("learner").one(learnerNames);
  for (const metric of whole.at("metrics").list()) metric.one(metricNames);
  whole.at("provenance").at("source").text();
  whole
    .at("provenance")
    .at("arrangement")
    .optional((one) => one.text());
  return whole.value as Model; // `parseModel` checks what was learned
}
