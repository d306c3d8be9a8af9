import { openModel, type Predictor, parseModel } from "#predict";

/** Without an objective `cotenant` does what `strict` does (docs/guide/policies.md). */
const POD_ARRANGEMENTS: readonly string[] = ["strict-isolated", "cotenant-isolated"];

export interface PredictorOrProblem {
  readonly predictor: Predictor | undefined;
  readonly problem: string | undefined;
}

/**
 * A model of another arrangement does not answer: under plain MPS a service takes 9 times as long,
 * and 1.1 times where work stops for requests. Throws a UserError for no model.
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
