// Gradient boosting (Friedman, 2001) has each small tree learn the residuals of those before it.
import { meanOf, type Regressor } from "./regressor.ts";
import { grow, rankValues, type Tree, treeValue } from "./tree.ts";

interface BoostingState {
  readonly start: number;
  readonly rate: number;
  readonly trees: readonly Tree[];
}

export const boosting = (
  depth: number,
  rounds: number,
  rate: number,
): Regressor<BoostingState> => ({
  learn: (x, y, random) => {
    const values = rankValues(x);
    const rows = Int32Array.from(y.keys());
    const shape = { depth, fewestToSplit: 2, fewestInLeaf: 2, tried: x[0]?.length ?? 0 };
    const start = meanOf(y);
    const left = y.map((value) => value - start);
    const trees = Array.from({ length: rounds }, () => {
      const tree = grow(values, left, rows, shape, random);
      x.forEach((row, i) => {
        left[i] = (left[i] as number) - rate * treeValue(tree, row);
      });
      return tree;
    });
    return { start, rate, trees };
  },
  open:
    ({ start, rate, trees }) =>
    (row) =>
      trees.reduce((sum, tree) => sum + rate * treeValue(tree, row), start),
});
