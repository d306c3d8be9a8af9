// Results as Markdown.
import type { BenchResult } from "../scenario/result.ts";
import { pairMatrix, pairTables } from "./pages.ts";
import { escapeMarkdown, table } from "./pipes.ts";
import { stepsTables } from "./steps.ts";
import type { Style } from "./style.ts";

const markdown: Style = {
  isNarrow: false,
  heading: (text) => [`### ${escapeMarkdown(text)}`],
  text: (text) => [escapeMarkdown(text)],
  table: (columns, rows) =>
    table(
      columns.map(({ title }) => title),
      columns.map(({ words }) => (words ? "left" : "right")),
      rows.map((row) => columns.map(({ cell }) => cell(row))),
    ),
};

export const markdownTable = (results: readonly BenchResult[]): string =>
  pairTables(results, markdown);

export const markdownMatrix = (results: readonly BenchResult[]): string =>
  pairMatrix(results, markdown);

export const markdownSteps = (result: BenchResult): string[] => stepsTables(result, markdown);
