// The columns of the table of a pair, and of the matrix of all pairs.

import type { Column } from "#core";
import { millis, percent, perSecond, times, whole } from "#measure";
import { isOurs } from "./marks.ts";
import { arrangementsOf, type Merged, type Pair, type Row, type Tokens } from "./rows.ts";
import { bestEffortNames, loadText, runsText } from "./words.ts";

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

const throughput: Column<Row> = {
  title: "throughput",
  rank: 2,
  cell: (row) => ratio(row.arrangement === "solo" ? undefined : row.throughput),
};

const waited: Column<Row> = {
  title: "waited p99",
  rank: 5,
  cell: ({ waitedMs }) => some(waitedMs, millis),
};

const pcieIn: Column<Row> = {
  title: "PCIe in",
  rank: 11,
  cell: ({ pcieInMiBs }) => some(pcieInMiBs, (mibs) => `${whole(mibs)} MiB/s`),
};

/** Two columns, if a row has such times. */
const tokens = (
  pair: Pair,
  title: string,
  of: (row: Row) => Tokens | undefined,
): readonly Column<Row>[] =>
  pair.rows.some((row) => of(row))
    ? (["p50", "p99"] as const).map((q) => ({
        title: `${title} ${q}`,
        rank: q === "p50" ? 4 : 0,
        cell: latency(
          (row) => of(row)?.ms[q],
          (row) => ratio(of(row)?.ratio[q]),
        ),
      }))
    : [];

export const columnsOf = (pair: Pair): readonly Column<Row>[] => [
  { title: "arrangement", words: true, cell: ({ arrangement }) => arrangement },
  { title: "requests", rank: 3, cell: ({ requests }) => some(requests, whole) },
  {
    title: "p50",
    rank: 8,
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
    rank: 7,
    cell: latency(
      ({ burstMs }) => burstMs.p50,
      (row) => ratio(row.burst.p50),
    ),
  },
  {
    title: "burst p99",
    rank: 1,
    cell: latency(
      ({ burstMs }) => burstMs.p99,
      (row) => ratio(row.burst.p99),
    ),
  },
  ...(pair.rows.some(({ waitedMs }) => waitedMs !== undefined) ? [waited] : []),
  ...tokens(pair, "TTFT", ({ ttft }) => ttft),
  ...tokens(pair, "TPOT", ({ tpot }) => tpot),
  ...(fallsBehind(pair) ? [throughput] : []),
  { title: "retained", cell: kept },
  {
    title: "of turn bound",
    rank: 6,
    cell: (row) => (takesTurns(row) ? some(row.ofPossible, percent) : ""),
  },
  { title: "SM active", rank: 9, cell: (row) => some(row.smActivity, percent) },
  { title: "DRAM", rank: 10, cell: (row) => some(row.dramActivity, percent) },
  ...(pair.rows.some(({ pcieInMiBs }) => pcieInMiBs !== undefined) ? [pcieIn] : []),
  { title: "clock", rank: 12, cell: (row) => some(row.smClockMHz, (mhz) => `${whole(mhz)} MHz`) },
  { title: "power", rank: 13, cell: (row) => some(row.powerW, (watts) => `${whole(watts)} W`) },
  { title: "runs", rank: 4, words: true, cell: runsText },
];

/** The turn bound says something only of arrangements that hold best-effort work back during requests. */
const takesTurns = ({ arrangement }: Row): boolean =>
  (isOurs(arrangement) && !arrangement.startsWith("off-")) || arrangement.startsWith("floor");

/** Whether the high job completes fewer requests than alone. Latencies alone do not show that. */
const fallsBehind = ({ arrivals, rows }: Pair): boolean =>
  arrivals === "closed" ||
  rows.some((row) => row.throughput !== undefined && row.throughput.value < 0.99);

/** A cell has p99 slowdown / retained throughput. */
export function matrixColumns(pairs: readonly Pair[]): readonly Column<Pair>[] {
  const rowOf = (pair: Pair, name: string) =>
    pair.rows.find(({ arrangement }) => arrangement === name);
  const arrangements = arrangementsOf(pairs).filter((name) => name !== "solo" && name !== "alone");
  return [
    { title: "high", words: true, cell: ({ high }) => high },
    { title: "best-effort", words: true, cell: bestEffortNames },
    { title: "load", words: true, cell: (pair) => loadText(pair).replace(/^load /, "") },
    {
      title: "solo p99",
      cell: (pair) => matrixCell(rowOf(pair, "solo"), (row) => some(row.latencyMs.p99, millis)),
    },
    ...arrangements.map((name, i) => ({
      title: name,
      rank: i + 1,
      cell: (pair: Pair) =>
        matrixCell(rowOf(pair, name), (row) =>
          [ratio(row.latency.p99), some(row.kept, ({ value }) => percent(value))]
            .filter((text) => text !== "")
            .join(" / "),
        ),
    })),
  ];
}

function matrixCell(row: Row | undefined, text: (row: Row) => string): string {
  if (!row) return "–";
  return row.runs === 0 ? "failed" : text(row) || "–";
}
