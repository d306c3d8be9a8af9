// MuxFlow's speed predictor (section 5) on KACE's table of SM shares: what a workload retains beside another, both
// confined to parts of the SMs, with all batch sizes of a model left out of the training rows.
import { accuracyOf, type Colocation, type LearnerName, learnerNames, learners } from "#predict";
import { kaceNames } from "#profile";
import { BUSY_LINE, busyLine } from "./busy-line.ts";
import { cpuMs, isWanted, trainingOf } from "./contestants.ts";
import { kaceShares, modelOf } from "./kace.ts";

/** Tests of the forest's grid: with some 750 rows a hundred would take minutes for each model that is left out. */
const FOREST_TESTS = 10;
/** MuxFlow's; KACE's network may take 400, but stops earlier when held-back rows get worse. */
const EPOCHS = 150;

export function shares(say: (line: string) => void) {
  const { all, consistent } = kaceShares();
  const models = [...new Set(consistent.flatMap(({ names }) => names.map(modelOf)))].sort();
  const parts = models.map((model) => {
    const held = consistent.filter(({ names }) => names.some((one) => modelOf(one) === model));
    return { model, held, learned: consistent.filter((row) => !held.includes(row)) };
  });
  const results = learnerNames.filter(isWanted).map((name) => {
    const folds = parts.map(({ model, held, learned }) => {
      const [state, ms] = cpuMs(() => trainAs(name, learned));
      const accuracy = accuracyOf(held, learners[name].open(state, kaceNames));
      return { model, ...accuracy, trainingCpuMs: Math.round(ms), ...winnerOf(state) };
    });
    say(name);
    const sides = folds.reduce((sum, one) => sum + one.sides, 0);
    const over = (of: (one: (typeof folds)[number]) => number) =>
      Number((folds.reduce((sum, one) => sum + of(one) * one.sides, 0) / sides).toFixed(4));
    return [
      name,
      { error: over(({ error }) => error), covered: over(({ covered }) => covered), folds },
    ] as const;
  });
  return {
    cells: all,
    consistent: consistent.length,
    models: models.length,
    forestTests: FOREST_TESTS,
    epochs: EPOCHS,
    results: Object.fromEntries(results),
    [BUSY_LINE]: errorOfLine(parts),
  };
}

/** The mean absolute error of the baseline, which knows neither SM shares nor which side it predicts. */
function errorOfLine(
  parts: readonly {
    readonly held: readonly Colocation[];
    readonly learned: readonly Colocation[];
  }[],
) {
  const folds = parts.flatMap(({ held, learned }) => {
    const line = busyLine(learned);
    return line ? [accuracyOf(held, line)] : [];
  });
  const sides = folds.reduce((sum, one) => sum + one.sides, 0);
  const error = folds.reduce((sum, one) => sum + one.error * one.sides, 0) / sides;
  return { error: Number(error.toFixed(4)) };
}

/** The winner, for learners that choose among several. */
function winnerOf(state: unknown): { readonly winner?: string } {
  const { winner, regression } = state as {
    readonly winner?: string;
    readonly regression?: { readonly winner?: string };
  };
  const name = winner ?? regression?.winner;
  return name === undefined ? {} : { winner: name };
}

const trainAs = (name: LearnerName, rows: readonly Colocation[]): unknown =>
  learners[name].train(rows, kaceNames, {
    ...trainingOf(0),
    forestTests: FOREST_TESTS,
    epochs: EPOCHS,
  });
