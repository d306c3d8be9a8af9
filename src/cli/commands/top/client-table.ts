import { displayWidth, padEnd, padStart, type Style, truncate } from "#core";
import { type Column, columns, type Row } from "./columns.ts";
import { bar, type Line, line } from "./line.ts";
import type { View } from "./model.ts";

const GAP = "  ";

interface Fitted {
  readonly column: Column;
  readonly width: number;
}

export interface ClientTable {
  readonly head: Line;
  readonly lines: readonly Line[];
  readonly titles: readonly string[];
}

export function clientTable(
  rows: readonly Row[],
  view: Pick<View, "sort" | "reverse" | "selected">,
  width: number,
): ClientTable {
  const fitted = fittedColumns(rows, width);
  return {
    head: headLine(fitted, view),
    lines: rows.map((row) => rowLine(row, fitted, view, width)),
    titles: fitted.map(({ column }) => column.title),
  };
}

/** The mark of the order stands in the gap, so that sorting moves nothing. */
function headLine(
  fitted: readonly Fitted[],
  { sort, reverse }: Pick<View, "sort" | "reverse">,
): Line {
  const titles = fitted.map(({ column, width: own }) => {
    const mark = column.title === sort ? (reverse ? "▼" : "▲") : "";
    const title = column.words ? column.title : padStart(column.title, own);
    return padEnd(truncate(title, own) + mark, own + GAP.length);
  });
  return line(titles.join("").trimEnd(), "heading");
}

function rowLine(
  row: Row,
  fitted: readonly Fitted[],
  { selected }: Pick<View, "selected">,
  width: number,
): Line {
  const cells = fitted.map(({ column, width }) => aligned(column, column.cell(row), width));
  const text = cells.join(GAP).trimEnd();
  if (row.key === selected) return bar(line(text), width, "selected");
  const style: Style | undefined = row.client.standing === "missed" ? "alarm" : undefined;
  return line(text, style);
}

const aligned = ({ words }: Column, text: string, width: number): string =>
  (words ? padEnd : padStart)(truncate(text, width), width);

/** Words in the columns get what is left. */
function fittedColumns(rows: readonly Row[], width: number): readonly Fitted[] {
  const filled = columns
    .filter(({ cell }) => rows.some((row) => cell(row) !== ""))
    .map((column) => ({ column, ...widthsOf(column, rows) }));
  const byRank = filled.toSorted((a, b) => a.column.rank - b.column.rank);
  let room = width + GAP.length;
  const kept = byRank.filter(({ least }, i) => {
    const fits = i === 0 || least + GAP.length <= room;
    if (fits) room -= least + GAP.length;
    return fits;
  });
  const widths = new Map(
    kept.map(({ column, least, best }) => {
      const more = Math.max(0, Math.min(room, best - least));
      room -= more;
      return [column, Math.min(width, least + more)];
    }),
  );
  return columns.flatMap((column) => {
    const own = widths.get(column);
    return own === undefined ? [] : [{ column, width: own }];
  });
}

function widthsOf({ title, cell, least, most }: Column, rows: readonly Row[]) {
  const texts = [title, ...rows.map(cell)];
  const longest = Math.max(...texts.map(displayWidth));
  const best = Math.max(displayWidth(title), Math.min(longest, most ?? longest));
  return { best, least: Math.min(best, least ?? best) };
}
