import type { Colocation } from "./data/colocations.ts";
import type { Predictor } from "./data/predictor.ts";
import { neighboursOf } from "./sides/sides.ts";

export interface Accuracy {
  readonly error: number;
  /** `covered`: the part of true values within the interval; `width`: its mean width. */
  readonly covered: number;
  readonly width: number;
  readonly familiar: number;
  readonly sides: number;
}

export function accuracyOf(rows: readonly Colocation[], predictor: Predictor): Accuracy {
  const all = rows.flatMap(({ sides }) =>
    sides.map((side) => {
      const { others, shares } = neighboursOf(side, sides);
      const { retained, low, high, familiar } = predictor.predict(side.features, others, shares);
      return {
        error: Math.abs(retained - side.retained),
        covered: side.retained >= low && side.retained <= high ? 1 : 0,
        width: high - low,
        familiar: familiar ? 1 : 0,
      };
    }),
  );
  const mean = (name: "error" | "covered" | "width" | "familiar") =>
    meanOf(all.map((one) => one[name]));
  return {
    error: mean("error"),
    covered: mean("covered"),
    width: mean("width"),
    familiar: mean("familiar"),
    sides: all.length,
  };
}

export const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
