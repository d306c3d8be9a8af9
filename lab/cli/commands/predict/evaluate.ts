// `cotenant-lab predict evaluate`: learners and rules judged by random splits.

import { leftOf, percent, progressOf, table, usage } from "#core";
import { judged, type SplitFigures } from "#evaluation";
import { type LearnerName, learnerNames } from "#predict";
import { measuredIn, metricsOf, nameIn, trainingOf } from "./measurements.ts";
import { commas, type Options } from "./options.ts";

/** Colocations that a learner is judged by, at least. */
const MIN_HELD_OUT = 2;

export function evaluate(args: Options): number {
  const measured = measuredIn(args, "evaluate");
  const { colocations } = measured;
  const metrics = metricsOf(measured, args);
  const names = learnersIn(args);
  const size = Math.round(args.part * colocations.length);
  if (colocations.length - size < MIN_HELD_OUT)
    throw usage(
      `${colocations.length} colocations leave none to be judged by.`,
      "Give a smaller --part.",
    );
  const { goal, splits, part } = args;
  const shown = progressOf("predict");
  const left = leftOf(splits);
  const results = judged(colocations, {
    learners: names,
    metrics,
    goal,
    splits,
    size,
    training: trainingOf(args),
    source: measured.source,
    nameOf: nameIn(measured),
    progress: (done) => shown.step(`${done} of ${splits} splits`, left(done)),
  });
  shown.end();
  console.log(
    args.json
      ? JSON.stringify({ goal, splits, part, metrics, results }, null, 2)
      : figuresTable(results).join("\n"),
  );
  return 0;
}

const figuresTable = (results: readonly (SplitFigures & { readonly name: string })[]): string[] =>
  table(
    [
      ["", "of the oracle", "regret", "R2", "RMSE", "error of retained", "within bounds"],
      ...results.map(({ name, ...figures }) => [
        name,
        percent(figures.ofOracle),
        figures.regret.toPrecision(3),
        figures.r2?.toFixed(2) ?? "-",
        figures.rmse?.toPrecision(3) ?? "-",
        figures.error?.toFixed(3) ?? "-",
        figures.covered === undefined ? "-" : percent(figures.covered),
      ]),
    ],
    1,
  );

function learnersIn({ learners }: Options): readonly LearnerName[] {
  const given = commas(learners).map((name) => {
    const known = learnerNames.find((one) => one === name);
    if (!known)
      throw usage(`No learner is called "${name}".`, `Known: ${learnerNames.join(", ")}.`);
    return known;
  });
  return given.length > 0 ? given : learnerNames;
}
