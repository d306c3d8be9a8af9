// `cotenant-lab predict collect`: results of the bench, or measured pairs of a cluster, as measured colocations.
import { collectSides, parseResult } from "#bench";
import { checkWritable, errors, percent, readGiven, table, usage, writeGiven } from "#core";
import {
  type Calibration,
  type ClusterObjects,
  type Coverage,
  calibrationOf,
  collectPairs,
  expectedCoverage,
  type FigureCalibration,
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
    console.log(JSON.stringify({ ...said, calibration, expectedCoverage, rules }, null, 2));
    return 0;
  }
  console.log(`${out}: ${collected.colocations.length} colocations (${collected.source})`);
  if (leftOut.size > 0) console.log(`Left out: ${reasonsIn(leftOut)}.`);
  for (const figure of ["retained", "slowdown"] as const)
    if (calibration[figure])
      console.log(["", ...calibrationLines(figure, calibration[figure])].join("\n"));
  if (rules.length > 0) console.log(["", ...rules.map(ruleLine)].join("\n"));
  return 0;
}

const write = (out: string, collected: object): void =>
  writeGiven(out, `${JSON.stringify(collected, null, 1)}\n`);

/** How the figures of a report are written. */
const words = {
  retained: { title: "retained throughput", figure: percent },
  slowdown: { title: "slowdown", figure: (factor: number) => factor.toFixed(2) },
} as const;

function calibrationLines(
  of: keyof typeof words,
  { all, bySource, byPredicted, byDay }: FigureCalibration,
): readonly string[] {
  const { title, figure } = words[of];
  const isBounded = all.pairs > 0;
  const rowsOf = (before: string, some: readonly Calibration[]) =>
    some.map(({ of: key, pairs, hours, predicted, measured, error, bounds }) => [
      `${before}${key}`,
      ...[String(pairs), hours.toFixed(1), figure(predicted), figure(measured), figure(error)],
      ...(isBounded ? [String(bounds.pairs)] : []),
      ...(isBounded ? [bounds.pairs > 0 ? percent(bounds.within) : ""] : []),
    ]);
  const heads = ["pairs", "hours", "predicted", "measured", "error"];
  return [
    ...table(
      [
        [title, ...heads, ...(isBounded ? ["with bounds", "within"] : [])],
        ...rowsOf("from ", bySource),
        ...rowsOf("predicted ", byPredicted),
        ...rowsOf("", byDay),
      ],
      1,
    ),
    ...(isBounded ? coverageLines(all) : []),
  ];
}

/** Each side has a bound of its own, so that both hold less often. */
function coverageLines({ pairs, within, aboveLow, belowHigh }: Coverage): readonly string[] {
  const { each, within: both } = expectedCoverage;
  return [
    `${percent(within)} of the ${pairs} pairs with bounds are within them; ${percent(both)} or more are expected.`,
    `${percent(aboveLow)} are at least the lower bound and ${percent(belowHigh)} at most the upper one; ${percent(each)} each are expected.`,
  ];
}

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
