// Random forest (Breiman, 2001). KACE, section 5.1, tests 100 of 4,320 configurations: the size of
// scikit-learn's customary grid, 10 numbers of trees x 2 of metrics tried x 12 depths x 3 x 3
// fewest rows x with or without bootstrap, by 3-fold cross-validation. Here it has a tenth of the
// 200 to 2,000 trees, because more trees only make the average smoother.

import type { Random } from "#core";
import { folds } from "../data/folds.ts";
import { crossValidationError, type Regressor } from "./regressor.ts";
import { grow, rankValues, type Tree, type TreeShape, treeValue } from "./tree.ts";

interface ForestShape {
  readonly trees: number;
  readonly tried: "all" | "root";
  readonly depth: number;
  readonly fewestToSplit: number;
  readonly fewestInLeaf: number;
  readonly bootstrap: boolean;
}

export interface ForestState {
  readonly shape: ForestShape;
  readonly trees: readonly Tree[];
}

const UNBOUNDED = 1000;
const grid: { readonly [K in keyof ForestShape]: readonly ForestShape[K][] } = {
  trees: [20, 40, 60, 80, 100, 120, 140, 160, 180, 200],
  tried: ["all", "root"],
  depth: [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, UNBOUNDED],
  fewestToSplit: [2, 5, 10],
  fewestInLeaf: [1, 2, 4],
  bootstrap: [true, false],
};
const FOLDS = 3;

export const forestOf = (shape: ForestShape): Regressor<ForestState> => ({
  learn: (x, y, random) => {
    const values = rankValues(x);
    const width = x[0]?.length ?? 0;
    const treeShape: TreeShape = {
      ...shape,
      tried: shape.tried === "all" ? width : Math.max(1, Math.floor(Math.sqrt(width))),
    };
    const every = Int32Array.from(y.keys());
    const trees = Array.from({ length: shape.trees }, () => {
      const rows = shape.bootstrap ? every.map(() => Math.floor(random() * y.length)) : every;
      return grow(values, y, rows, treeShape, random);
    });
    return { shape, trees };
  },
  open:
    ({ trees }) =>
    (row) =>
      trees.reduce((sum, tree) => sum + treeValue(tree, row), 0) / trees.length,
});

export const customaryShape: ForestShape = {
  trees: 100,
  tried: "all",
  depth: UNBOUNDED,
  fewestToSplit: 2,
  fewestInLeaf: 1,
  bootstrap: true,
};

export const customaryForest = forestOf(customaryShape);

export const forest = (tests: number): Regressor<ForestState> => ({
  learn: (x, y, random, told) => {
    const parts = folds([...y.keys()], FOLDS, random);
    let best = { error: Number.POSITIVE_INFINITY, regressor: customaryForest };
    for (let i = 0; i < tests; i++) {
      const regressor = forestOf(drawn(random));
      const error = crossValidationError(regressor, x, y, parts, random);
      if (error < best.error) best = { error, regressor };
      told?.((i + 1) / tests);
    }
    return best.regressor.learn(x, y, random);
  },
  open: customaryForest.open,
});

function drawn(random: Random): ForestShape {
  const one = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  return {
    trees: one(grid.trees),
    tried: one(grid.tried),
    depth: one(grid.depth),
    fewestToSplit: one(grid.fewestToSplit),
    fewestInLeaf: one(grid.fewestInLeaf),
    bootstrap: one(grid.bootstrap),
  };
}
