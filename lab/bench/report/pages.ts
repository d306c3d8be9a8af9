// Results as text: a table for each pair, and one small matrix of all pairs. How they look is a style's.
import { perSecond } from "#measure";
import type { BenchResult } from "../scenario/result.ts";
import { columnsOf, matrixColumns } from "./columns.ts";
import { merge, type Pair } from "./rows.ts";
import { stepsTables } from "./steps.ts";
import type { Style } from "./style.ts";
import { pairText, runsText } from "./words.ts";

const TOKENS =
  " TTFT is arrival to the first token, TPOT the mean time per token after it; both as ratios to solo, too.";
const LEGEND =
  "Latency is arrival to done, a burst begin of submission to done; both as ratios to solo, the same job " +
  "alone on the GPU (in ms). Waited is what a request waits for the GPU after it submitted everything. Retained is " +
  "best-effort throughput divided by that of alone (per second); of turn bound is retained divided by what " +
  "taking turns could give. Of several runs each figure is the mean and requests are the sum; the " +
  "interval goes from the lowest low to the highest high, and ± is the largest deviation of a run's burst " +
  "p50 from the mean.";

/** One table for each pair and load, with a legend at the end. */
export function pairTables(results: readonly BenchResult[], style: Style): string {
  const pairs = merge(results);
  if (pairs.length === 0) return "No results.\n";
  const streams = pairs.some(({ rows }) => rows.some(({ ttft }) => ttft));
  const legend = streams ? LEGEND + TOKENS : LEGEND;
  return [...pairs.flatMap((pair) => section(pair, style)), ...style.text(legend), ""].join("\n");
}

const section = (pair: Pair, style: Style): string[] => [
  ...style.heading(pairText(pair)),
  "",
  ...style.text(`${provenance(pair)}.`),
  "",
  ...style.table(columnsOf(pair), pair.rows),
  "",
  ...(style.isNarrow ? failuresIn(pair).flatMap((line) => [...style.text(line), ""]) : []),
  ...pair.results.flatMap(({ noise }) => (noise ? [...style.text(noise.sentence), ""] : [])),
  ...pair.results.flatMap((result) => stepsTables(result, style)),
];

const failuresIn = ({ rows }: Pair): string[] =>
  rows
    .filter(({ failures }) => failures.length > 0)
    .map((row) => `${row.arrangement}: ${runsText(row)}`);

/** The jobs, the arrivals, and the machine and the commit of the measurement. */
function provenance({ results, gpu, arrivals }: Pair): string {
  const distinct = (values: readonly string[]) => [...new Set(values)].join(", ");
  const rates = results.flatMap(({ scenario }) => scenario.ratePerS ?? []);
  const labels = results.flatMap(({ scenario }) =>
    [scenario.high, ...scenario.bestEffort].flatMap(({ facts }) =>
      typeof facts.label === "string" ? `${facts.label}` : [],
    ),
  );
  const low = perSecond(Math.min(...rates));
  const high = perSecond(Math.max(...rates));
  return [
    [...new Set(labels)].join("; "),
    rates.length === 0 ? arrivals : `${arrivals}, ${low === high ? low : `${low} to ${high}`}`,
    `${gpu}, driver ${distinct(results.map(({ machine }) => machine.driver))}`,
    `commit ${distinct(results.map(({ commit }) => shortCommit(commit)))}`,
  ]
    .filter((text) => text !== "")
    .join("; ");
}

const shortCommit = (commit: string): string => commit.replace(/^([0-9a-f]{7})[0-9a-f]+/, "$1");

/** A row for each pair, a column for each arrangement. */
export function pairMatrix(results: readonly BenchResult[], style: Style): string {
  const pairs = merge(results);
  if (pairs.length === 0) return "No results.\n";
  return [...style.table(matrixColumns(pairs), pairs), ""].join("\n");
}
