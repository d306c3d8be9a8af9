// Results for a terminal of this many columns; undefined: as wide as needed.
import { fitTable, type Paint, plain, wrap } from "#core";
import type { BenchResult } from "../scenario/result.ts";
import { pairMatrix, pairTables } from "./pages.ts";
import type { Style } from "./style.ts";

const terminal = (width: number | undefined, paint: Paint): Style => ({
  isNarrow: width !== undefined,
  heading: (text) => [paint.heading(text)],
  text: (text) => wrap(text, width ?? Number.POSITIVE_INFINITY),
  table: (columns, rows) => fitTable(columns, rows, width, paint),
});

export const terminalTable = (
  results: readonly BenchResult[],
  width?: number,
  paint: Paint = plain,
): string => pairTables(results, terminal(width, paint));

export const terminalMatrix = (
  results: readonly BenchResult[],
  width?: number,
  paint: Paint = plain,
): string => pairMatrix(results, terminal(width, paint));
