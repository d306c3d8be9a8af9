// Results as Markdown: a table for each pair, and one small matrix of all pairs.
import type { BenchResult } from "../result.ts";
import { isOurs } from "./marks.ts";
import { escapeMarkdown, table } from "./pipes.ts";
import { arrangementsOf, type Merged, merge, type Pair, type Row } from "./rows.ts";
import { stepsTables } from "./steps.ts";
import {
  bestEffortNames,
  loadText,
  millis,
  pairText,
  percent,
  perSecond,
  runsText,
  times,
  whole,
} from "./words.ts";

const LEGEND =
  "Latency is arrival to done, a burst begin of submission to done; both as ratios to `solo`, the same job " +
  "alone on the GPU (in ms). Waited is what a request waits for the GPU after it submitted everything. Retained is " +
  "best-effort throughput divided by that of `alone` (per second); of turn bound is retained divided by what " +
  "taking turns could give. Of several runs each figure is the mean and requests are the sum; the " +
  "interval goes from the lowest low to the highest high, and ± is the largest deviation of a run's burst " +
  "p50 from the mean.";

/** One table for each pair and load, with a legend at the end. */
export function markdownTable(results: readonly BenchResult[]): string {
  const pairs = merge(results);
  if (pairs.length === 0) return "No results.\n";
  return [...pairs.map(section), `${LEGEND}\n`].join("\n");
}

function section(pair: Pair): string {
  const columns = columnsOf(pair);
  return [
    `### ${escapeMarkdown(pairText(pair))}`,
    "",
    `${escapeMarkdown(provenance(pair))}.`,
    "",
    ...table(
      columns.map(({ title }) => title),
      columns.map(({ words }) => (words ? "left" : "right")),
      pair.rows.map((row) => columns.map(({ cell }) => cell(row))),
    ),
    "",
    ...pair.results.flatMap(stepsTables),
  ].join("\n");
}

interface Column {
  readonly title: string;
  /** Whether the column is aligned to the left. */
  readonly words?: boolean;
  readonly cell: (row: Row) => string;
}

const some = <T>(value: T | undefined, text: (value: T) => string): string =>
  value === undefined ? "" : text(value);
const ratio = (merged: Merged | undefined): string => some(merged, ({ value }) => times(value));

/** Ratios to solo; for solo, milliseconds. */
const latency =
  (ms: (row: Row) => number | undefined, slowdown: (row: Row) => string) =>
  (row: Row): string =>
    row.arrangement === "solo" ? some(ms(row), millis) : slowdown(row);

const withInterval = (merged: Merged | undefined): string =>
  some(merged, ({ value, low, high }) =>
    low === high ? times(value) : `${times(value)} [${digitsOf(low)}, ${digitsOf(high)}]`,
  );
const digitsOf = (value: number): string => times(value).slice(0, -1);

const kept = (row: Row): string =>
  row.arrangement === "alone"
    ? row.perS.map((rate) => some(rate, perSecond)).join(", ")
    : some(row.kept, ({ value }) => percent(value));

const throughput: Column = {
  title: "throughput",
  cell: (row) => ratio(row.arrangement === "solo" ? undefined : row.throughput),
};

const waited: Column = {
  title: "waited p99",
  cell: ({ waitedMs }) => some(waitedMs, millis),
};

const pcieIn: Column = {
  title: "PCIe in",
  cell: ({ pcieInMiBs }) => some(pcieInMiBs, (mibs) => `${whole(mibs)} MiB/s`),
};

const columnsOf = (pair: Pair): readonly Column[] => [
  { title: "arrangement", words: true, cell: ({ arrangement }) => arrangement },
  { title: "requests", cell: ({ requests }) => some(requests, whole) },
  {
    title: "p50",
    cell: latency(
      ({ latencyMs }) => latencyMs.p50,
      (row) => ratio(row.latency.p50),
    ),
  },
  {
    title: "p99 [95 %]",
    cell: latency(
      ({ latencyMs }) => latencyMs.p99,
      (row) => withInterval(row.latency.p99),
    ),
  },
  {
    title: "burst p50",
    cell: latency(
      ({ burstMs }) => burstMs.p50,
      (row) => ratio(row.burst.p50),
    ),
  },
  {
    title: "burst p99",
    cell: latency(
      ({ burstMs }) => burstMs.p99,
      (row) => ratio(row.burst.p99),
    ),
  },
  ...(pair.rows.some(({ waitedMs }) => waitedMs !== undefined) ? [waited] : []),
  ...(fallsBehind(pair) ? [throughput] : []),
  { title: "retained", cell: kept },
  { title: "of turn bound", cell: (row) => (takesTurns(row) ? some(row.ofPossible, percent) : "") },
  { title: "SM active", cell: (row) => some(row.smActivity, percent) },
  { title: "DRAM", cell: (row) => some(row.dramActivity, percent) },
  ...(pair.rows.some(({ pcieInMiBs }) => pcieInMiBs !== undefined) ? [pcieIn] : []),
  { title: "clock", cell: (row) => some(row.smClockMHz, (mhz) => `${whole(mhz)} MHz`) },
  { title: "power", cell: (row) => some(row.powerW, (watts) => `${whole(watts)} W`) },
  { title: "runs", words: true, cell: runsText },
];

/** The turn bound says something only of arrangements that hold best-effort work back during requests. */
const takesTurns = ({ arrangement }: Row): boolean =>
  (isOurs(arrangement) && !arrangement.startsWith("off-")) || arrangement.startsWith("floor");

/** Whether the high job completes fewer requests than alone. Latencies alone do not show that. */
const fallsBehind = ({ arrivals, rows }: Pair): boolean =>
  arrivals === "closed" ||
  rows.some((row) => row.throughput !== undefined && row.throughput.value < 0.99);

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

/** A row for each pair, a column for each arrangement. A cell has p99 slowdown / retained throughput. */
export function markdownMatrix(results: readonly BenchResult[]): string {
  const pairs = merge(results);
  if (pairs.length === 0) return "No results.\n";
  const arrangements = arrangementsOf(pairs).filter((name) => name !== "solo" && name !== "alone");
  const rowOf = (pair: Pair, name: string) =>
    pair.rows.find(({ arrangement }) => arrangement === name);
  return `${table(
    ["high", "best-effort", "load", "solo p99", ...arrangements],
    ["left", "left", "left", "right", ...arrangements.map(() => "right" as const)],
    pairs.map((pair) => [
      pair.high,
      bestEffortNames(pair),
      loadText(pair).replace(/^load /, ""),
      matrixCell(rowOf(pair, "solo"), (row) => some(row.latencyMs.p99, millis)),
      ...arrangements.map((name) =>
        matrixCell(rowOf(pair, name), (row) =>
          [ratio(row.latency.p99), some(row.kept, ({ value }) => percent(value))]
            .filter((text) => text !== "")
            .join(" / "),
        ),
      ),
    ]),
  ).join("\n")}\n`;
}

function matrixCell(row: Row | undefined, text: (row: Row) => string): string {
  if (!row) return "–";
  return row.runs === 0 ? "failed" : text(row) || "–";
}
