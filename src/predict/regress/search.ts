// As with H2O's AutoML in KACE (section 5.1), the least cross-validated error in a time wins.

import { folds } from "../data/folds.ts";
import { boosting } from "./boosting.ts";
import { customaryForest } from "./forest.ts";
import { linear, ridge } from "./linear.ts";
import { kaceNetwork, muxflowMlp, network } from "./network.ts";
import { crossValidationError, type Regressor } from "./regressor.ts";

const contestants: Readonly<Record<string, Regressor<unknown>>> = {
  linear: linear as Regressor<unknown>,
  ridge: ridge as Regressor<unknown>,
  "boosting of stumps": boosting(1, 200, 0.1) as Regressor<unknown>,
  boosting: boosting(3, 100, 0.1) as Regressor<unknown>,
  "deep boosting": boosting(5, 60, 0.1) as Regressor<unknown>,
  forest: customaryForest as Regressor<unknown>,
  "network 32": network({ ...kaceNetwork, hidden: [32] }) as Regressor<unknown>,
  "network 64 x 32": network({ ...kaceNetwork, hidden: [64, 32] }) as Regressor<unknown>,
  "network 128 x 64 x 32": network(kaceNetwork) as Regressor<unknown>,
  "network 64 x 64 x 64 x 64": network(muxflowMlp) as Regressor<unknown>,
};
const FOLDS = 5;

export interface SearchState {
  readonly winner: string;
  readonly model: unknown;
}

/** Only this training depends on the machine's speed. `now`: in ms. */
export const search = (limitMs: number, now: () => number): Regressor<SearchState> => ({
  learn(x, y, random, told) {
    const began = now();
    const end = began + limitMs;
    const parts = folds([...y.keys()], Math.min(FOLDS, y.length), random);
    let best = {
      winner: "linear",
      error: Number.POSITIVE_INFINITY,
      regressor: linear as Regressor<unknown>,
    };
    const all = Object.entries(contestants);
    for (const [i, [winner, regressor]] of all.entries()) {
      if (now() >= end && best.error < Number.POSITIVE_INFINITY) break;
      const error = crossValidationError(regressor, x, y, parts, random);
      if (error < best.error) best = { winner, error, regressor };
      told?.(Math.min(1, Math.max((i + 1) / all.length, (now() - began) / limitMs)));
    }
    return { winner: best.winner, model: best.regressor.learn(x, y, random) };
  },
  open: ({ winner, model }) => {
    const regressor = contestants[winner];
    if (!regressor) throw new RangeError(`no contestant is called ${winner}`);
    return regressor.open(model);
  },
});
