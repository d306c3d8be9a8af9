import { type Paint, plain } from "./paint.ts";
import { table, wrap } from "./print.ts";
import { displayWidth, truncate } from "./width.ts";

export interface Column<Row> {
  readonly title: string;
  readonly words?: boolean; // words are aligned to the left
  readonly rank?: number; // in a narrow terminal the highest goes first; without one it stays
  cell(row: Row): string;
}

export function fitTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width = Number.POSITIVE_INFINITY,
  paint: Paint = plain,
): string[] {
  const filled = columns.filter(({ cell, title }) => title === "" || rows.some((row) => cell(row)));
  let shown = filled;
  while (widthOf(shown, rows) > width) {
    const most = Math.max(...shown.map(({ rank = 0 }) => rank));
    if (most <= 0) break;
    shown = shown.filter(({ rank = 0 }) => rank < most);
  }
  const leftOut = [
    ...new Set(filled.filter((column) => !shown.includes(column)).map(({ title }) => title)),
  ];
  const [head = "", ...lines] = linesOf(shown, rows).map((line) => truncate(line, width));
  return [
    paint.heading(head),
    ...lines,
    ...(leftOut.length > 0
      ? wrap(`Left out, in a narrow terminal: ${leftOut.join(", ")}.`, width).map(paint.aside)
      : []),
  ];
}

const linesOf = <Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] => {
  const texts = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ cell }) => cell(row))),
  ];
  return table(
    texts,
    columns.map(({ words = false }) => words),
  );
};

const widthOf = <Row>(columns: readonly Column<Row>[], rows: readonly Row[]): number =>
  Math.max(...linesOf(columns, rows).map(displayWidth));
