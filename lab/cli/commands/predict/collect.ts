// `cotenant-lab predict collect`: results of the bench, or measured pairs of a cluster, as measured colocations.
import { collectSides, parseResult } from "#bench";
import { checkWritable, errors, percent, readGiven, table, usage, writeGiven } from "#core";
import {
  type Calibration,
  type CalibrationReport,
  type ClusterObjects,
  calibrationOf,
  collectPairs,
  type HeldOut,
  heldOutOf,
  isOfCluster,
  readObjects,
  reasonsIn,
} from "#evaluation";
import type { Options } from "./options.ts";

export function collect(args: Options): number {
  const {
    positional: [, ...files],
    arrangement,
    out,
  } = args;
  if (files.length === 0) throw errors.missingArgument("predict collect", "RESULT …");
  if (out === undefined) throw errors.missingArgument("predict collect", "--out FILE");
  checkWritable(out);
  const texts = files.map((path) => ({ path, text: readGiven(path, "result") }));
  const ofCluster = texts.filter(({ text }) => isOfCluster(text));
  if (ofCluster.length === texts.length) return collectCluster(args, out, texts);
  if (ofCluster.length > 0)
    throw usage(
      `${ofCluster[0]?.path} is of a cluster, and other files are results of the bench.`,
      "Collect each by themselves: one model learns from one kind of measurements.",
    );
  const results = texts.map(({ path, text }) => parseResult(text, path));
  const { source, ...rest } = collectSides(results, arrangement);
  write(out, { ...rest, source });
  console.log(
    `${out}: ${rest.colocations.length} colocations of ${files.length} results (${source})`,
  );
  return 0;
}

function collectCluster(
  { arrangement, gpu, json }: Options,
  out: string,
  texts: readonly { readonly path: string; readonly text: string }[],
): number {
  const files = texts.map(({ path, text }) => readObjects(text, path));
  const objects: ClusterObjects = {
    pairs: files.flatMap(({ pairs }) => pairs),
    profiles: new Map(files.flatMap(({ profiles }) => [...profiles])),
  };
  const { collected, leftOut } = collectPairs(objects, arrangement, gpu);
  const calibration = calibrationOf(objects.pairs);
  const rules = heldOutOf(objects.pairs);
  write(out, collected);
  if (json) {
    const said = { out, source: collected.source, leftOut: Object.fromEntries(leftOut) };
    console.log(JSON.stringify({ ...said, calibration, rules }, null, 2));
    return 0;
  }
  console.log(`${out}: ${collected.colocations.length} colocations (${collected.source})`);
  if (leftOut.size > 0) console.log(`Left out: ${reasonsIn(leftOut)}.`);
  console.log(["", ...calibrationTable(calibration)].join("\n"));
  if (rules.length > 0) console.log(["", ...rules.map(ruleLine)].join("\n"));
  return 0;
}

const write = (out: string, collected: object): void =>
  writeGiven(out, `${JSON.stringify(collected, null, 1)}\n`);

const calibrationTable = ({ bySource, byPredicted, byDay }: CalibrationReport): string[] =>
  table(
    [
      ["retained throughput", "pairs", "hours", "predicted", "measured", "error"],
      ...rowsOf("from ", bySource),
      ...rowsOf("predicted ", byPredicted),
      ...rowsOf("", byDay),
    ],
    1,
  );

const rowsOf = (before: string, all: readonly Calibration[]) =>
  all.map(({ of, pairs, hours, predicted, measured, error }) => [
    `${before}${of}`,
    String(pairs),
    hours.toFixed(1),
    percent(predicted),
    percent(measured),
    percent(error),
  ]);

/** A sentence about a rule of the busy shares, which knows neither workload. */
function ruleLine({
  of,
  pairs,
  isPrior,
  error,
  covered,
  predictedError,
  betterIn,
}: HeldOut): string {
  const what = isPrior
    ? `the prior, as ${pairs} pairs of workloads are too few for a rule,`
    : `a rule of both busy shares that knows neither workload, by ${pairs} pairs of workloads,`;
  const bounds = isPrior ? "" : `, and its bounds hold ${percent(covered)} of them`;
  const compared =
    predictedError === undefined || betterIn === undefined
      ? ""
      : ` The predictions err by ${predictedError.toFixed(3)}; they are worse in ${percent(betterIn)} of resamples.`;
  return `${of}: ${what} errs by ${error.toFixed(3)}${bounds}.${compared}`;
}
