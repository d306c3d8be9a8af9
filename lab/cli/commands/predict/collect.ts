// `cotenant-lab predict collect`: results of the bench, or measured pairs of a cluster, as measured colocations.
import { collectSides, parseResult } from "#bench";
import { checkWritable, errors, percent, readGiven, table, usage, writeGiven } from "#core";
import {
  type Calibration,
  type CalibrationReport,
  type ClusterObjects,
  calibrationOf,
  collectPairs,
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
  write(out, collected);
  if (json) {
    const said = { out, source: collected.source, leftOut: Object.fromEntries(leftOut) };
    console.log(JSON.stringify({ ...said, calibration }, null, 2));
    return 0;
  }
  console.log(`${out}: ${collected.colocations.length} colocations (${collected.source})`);
  if (leftOut.size > 0) console.log(`Left out: ${reasonsIn(leftOut)}.`);
  console.log(["", ...calibrationTable(calibration)].join("\n"));
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
