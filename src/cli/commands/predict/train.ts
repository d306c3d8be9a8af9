// `cotenant predict train`: a model from measured colocations.
import { checkWritable, dateNow, errors, writeGiven } from "#core";
import { formatModel, train } from "#predict";
import { measuredIn, metricsOf, nameIn, trainingOf } from "./measurements.ts";
import type { Given } from "./options.ts";

export function trainOne(args: Given): number {
  const { out, learner } = args;
  if (out === undefined) throw errors.missingArgument("predict train", "--out FILE");
  const measured = measuredIn(args, "train");
  checkWritable(out);
  const model = train(
    learner,
    measured.colocations,
    metricsOf(measured, args),
    trainingOf(args),
    {
      source: measured.source,
      date: dateNow(),
      command: ["cotenant", ...process.argv.slice(2)].join(" "),
    },
    nameIn(measured),
  );
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
