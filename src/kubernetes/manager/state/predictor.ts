// The predictor of a model file, if what it learned is about how pods share a GPU.
import { openModel, type Predictor, parseModel } from "#predict";

/**
 * How agents of a cluster run pods, as the bench names it. Without an objective `cotenant` does what `strict` does
 * (docs/guide/policies.md).
 */
const POD_ARRANGEMENTS: readonly string[] = ["strict-isolated", "cotenant-isolated"];

export interface PredictorOrProblem {
  readonly predictor: Predictor | undefined;
  /** Why there is none, as a sentence with the cure. */
  readonly problem: string | undefined;
}

/**
 * A model of another arrangement does not answer: beside the same job a service takes 1.1 times as long where
 * best-effort work stops for requests, and 9 times as long under plain MPS. Throws a UserError that names `file` if it
 * is no model.
 */
export function predictorIn(text: string, file: string): PredictorOrProblem {
  const model = parseModel(text, file);
  const { arrangement } = model.provenance;
  if (arrangement !== undefined && POD_ARRANGEMENTS.includes(arrangement))
    return { predictor: openModel(model), problem: undefined };
  const learned =
    arrangement === undefined
      ? "does not say how the jobs shared the GPU that it learned from"
      : `was learned under ${arrangement}`;
  const [first] = POD_ARRANGEMENTS;
  return {
    predictor: undefined,
    problem: `${file} ${learned}, and pods run under ${POD_ARRANGEMENTS.join(" or ")}. Learn it again from what "cotenant-lab predict collect --arrangement ${first}" writes.`,
  };
}
