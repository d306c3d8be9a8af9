// KACE, section 5.2.4: the target at its largest batch size, and no batch size of it in the training rows.

import { mulberry32, shuffle } from "#core";
import { choose, type Goal, ofOracle, type Score } from "#evaluation";
import { accuracyOf, learners } from "#predict";
import { kaceNames } from "#profile";
import { bestList, spreadOf, trained, unlearned } from "./contestants.ts";
import { isConsistent, kacePairs, modelOf, type Named } from "./kace.ts";

/** Number of random training sets as small as the paper's 20 %. */
const REPEATS = 3;
const SMALL = 36;
const goal: Goal = "throughput";

export function unseen(say: (line: string) => void) {
  const rows = kacePairs();
  const targets = [...new Set(rows.flatMap(({ names }) => names))].filter((name) =>
    name.includes("_batch16-"),
  );
  const of = (name: string, train: (rows: readonly Named[], seed: number) => Score) => {
    const full = targets.map((target) => reached(rows, target, train(othersOf(rows, target), 0)));
    const small = Array.from({ length: REPEATS }, (_, seed) =>
      targets.map((target) => {
        const learned = shuffle(othersOf(rows, target), mulberry32(seed)).slice(0, SMALL);
        return reached(rows, target, train(learned, seed));
      }),
    );
    say(name);
    return [
      name,
      {
        allOtherRows: spreadOf(full),
        perTarget: Object.fromEntries(targets.map((target, i) => [target, full[i]])),
        rows36: spreadOf(
          small.map((one) => one.reduce((sum, value) => sum + value, 0) / one.length),
        ),
      },
    ] as const;
  };
  const hindsight = bestList(rows, goal);
  return {
    goal,
    results: Object.fromEntries([
      ...Object.entries(trained)
        // The list of partners is made of measured neighbours, and needs nothing of the target.
        .map(([name, train]) => of(name, (learned, seed) => train(learned, goal, seed))),
      ...Object.entries(unlearned).map(([name, score]) => of(name, () => score)),
      of("best list in hindsight", () => hindsight),
    ]),
    intervals: intervals(rows.filter(isConsistent)),
  };
}

const othersOf = (rows: readonly Named[], target: string) =>
  rows.filter(({ names }) => names.every((name) => modelOf(name) !== modelOf(target)));

function reached(rows: readonly Named[], target: string, score: Score): number {
  const open = rows.filter(({ names }) => names.includes(target));
  const features = open[0]?.sides[open[0].names.indexOf(target)]?.features;
  return ofOracle(choose(open, score, goal).filter((choice) => choice.target === features));
}

/** Do the bounds still hold for workloads that nothing was learned from, and does the model say so? */
function intervals(rows: readonly Named[]) {
  const models = [...new Set(rows.flatMap(({ names }) => names.map(modelOf)))];
  return Object.fromEntries(
    models.map((model) => {
      const held = rows.filter(({ names }) => names.some((name) => modelOf(name) === model));
      const learned = rows.filter((row) => !held.includes(row));
      const { ours } = learners;
      return [model, accuracyOf(held, ours.open(ours.train(learned, kaceNames), kaceNames))];
    }),
  );
}
