// The rule is one column and the straight line through it that errs least.
import { meanOf, type Regressor } from "./regressor.ts";

export interface RuleState {
  readonly column: number;
  readonly intercept: number;
  readonly slope: number;
}

export const rule = (columns: number): Regressor<RuleState> => ({
  learn(x, y) {
    const width = x[0]?.length ?? 0;
    const mean = meanOf(y);
    let best = { column: 0, intercept: mean, slope: 0 };
    let least = Number.POSITIVE_INFINITY;
    for (let column = Math.max(0, width - columns); column < width; column++) {
      const values = Float64Array.from(x, (row) => row[column] as number);
      const centre = meanOf(values);
      const spread = values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
      if (spread === 0) continue;
      const slope =
        values.reduce((sum, value, i) => sum + (value - centre) * ((y[i] as number) - mean), 0) /
        spread;
      const error = values.reduce(
        (sum, value, i) => sum + ((y[i] as number) - mean - slope * (value - centre)) ** 2,
        0,
      );
      if (error < least) {
        least = error;
        best = { column, intercept: mean - slope * centre, slope };
      }
    }
    return best;
  },
  open:
    ({ column, intercept, slope }) =>
    (row) =>
      intercept + slope * (row[column] as number),
});
