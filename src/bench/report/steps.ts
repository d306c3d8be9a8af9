// Tables of a load that changes: the effect of each step on the tail, and how soon best-effort throughput followed.
import type { BenchResult, Cell, StepFigures } from "../result.ts";
import { escapeMarkdown, table } from "./pipes.ts";
import { percent, perSecond, times } from "./words.ts";

/** The lines of one table for each run whose load changes by steps; empty for others. */
export function stepsTables({ date, cells }: BenchResult): string[] {
  const stepped = cells.filter(({ steps }) => steps !== undefined);
  const [first] = stepped;
  if (!first?.steps) return [];
  return [
    `Step by step (${escapeMarkdown(date.slice(0, 10))}): p99 slowdown / best-effort throughput retained in the step's second half, and after how long it was within 10 % of that.`,
    "",
    ...table(
      ["arrangement", ...first.steps.map(stepTitle)],
      ["left", ...first.steps.map(() => "right" as const)],
      stepped.map(rowOf),
    ),
    "",
  ];
}

const stepTitle = ({ seconds, ratePerS }: StepFigures): string =>
  `${seconds} s at ${perSecond(ratePerS)}`;

const rowOf = ({ arrangement, steps = [] }: Cell): string[] => [
  arrangement,
  ...steps.map(({ latency, retained, settledMs }) => {
    const after = settledMs === undefined ? "never" : `${(settledMs / 1000).toFixed(2)} s`;
    const kept = arrangement === "solo" ? "" : ` / ${percent(retained)} after ${after}`;
    return `${times(latency.p99)}${kept}`;
  }),
];
