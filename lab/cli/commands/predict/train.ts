// `cotenant-lab predict train`: a model from measured colocations.
import { checkWritable, dateNow, errors, leftOf, percent, progressOf, writeGiven } from "#core";
import { formatModel, train } from "#predict";
import { measuredIn, metricsOf, nameIn, trainingOf } from "./measurements.ts";
import type { Options } from "./options.ts";

export function trainOne(args: Options): number {
  const { out, learner } = args;
  if (out === undefined) throw errors.missingArgument("predict train", "--out FILE");
  const measured = measuredIn(args, "train");
  checkWritable(out);
  const { told, end } = shownProgress(`learning from ${measured.colocations.length} colocations`);
  const model = train(
    learner,
    measured.colocations,
    metricsOf(measured, args),
    { ...trainingOf(args), told },
    {
      source: measured.source,
      arrangement: measured.arrangement,
      date: dateNow(),
      command: ["cotenant-lab", ...process.argv.slice(2)].join(" "),
    },
    nameIn(measured),
  );
  end();
  writeGiven(out, formatModel(model));
  const { metrics, provenance } = model;
  const said = { out, learner, colocations: provenance.colocations, metrics };
  console.log(
    args.json
      ? JSON.stringify(said, null, 2)
      : `${out}: ${learner}, from ${provenance.colocations} colocations and ${metrics.length} metrics (${metrics.join(", ")})`,
  );
  return 0;
}

/** Training leaves no time for a timer to draw: a line is drawn with each per cent, and away from a terminal each tenth. */
function shownProgress(what: string) {
  const shown = progressOf("predict");
  const left = leftOf(1);
  const steps = process.stderr.isTTY ? 100 : 10;
  let last = 0;
  shown.step(what);
  return {
    told(part: number) {
      const now = Math.floor(part * steps);
      if (now > last && now < steps) shown.step(`${what}, ${percent(now / steps)}`, left(part));
      last = now;
    },
    end: () => shown.end(),
  };
}
