// Tables of a load that changes: the effect of each step on the tail, and how soon best-effort throughput followed.
import { percent, perSecond, times } from "#measure";
import type { BenchResult, Cell, StepFigures } from "../scenario/result.ts";
import type { Style } from "./style.ts";

/** The lines of one table for each run whose load changes by steps; empty for others. */
export function stepsTables({ date, cells }: BenchResult, style: Style): string[] {
  const stepped = cells.filter(({ steps }) => steps !== undefined);
  const [first] = stepped;
  if (!first?.steps) return [];
  return [
    ...style.text(
      `Step by step (${date.slice(0, 10)}): p99 slowdown / best-effort throughput retained in the step's second half, and after how long it was within 10 % of that.`,
    ),
    "",
    ...style.table<Cell>(
      [
        { title: "arrangement", words: true, cell: ({ arrangement }) => arrangement },
        ...first.steps.map((step, i) => ({
          title: stepTitle(step),
          cell: (cell: Cell) => stepText(cell, i),
        })),
      ],
      stepped,
    ),
    "",
  ];
}

const stepTitle = ({ seconds, ratePerS }: StepFigures): string =>
  `${seconds} s at ${perSecond(ratePerS)}`;

function stepText({ arrangement, steps = [] }: Cell, index: number): string {
  const step = steps[index];
  if (!step) return "";
  const { latency, retained, settledMs } = step;
  const after = settledMs === undefined ? "never" : `${(settledMs / 1000).toFixed(2)} s`;
  const kept = arrangement === "solo" ? "" : ` / ${percent(retained)} after ${after}`;
  return `${times(latency.p99)}${kept}`;
}
