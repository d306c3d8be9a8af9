// Reads rows of a CSV file with a header line, field by field. Each error names file and line.
import { csvRows } from "#core";
import { badField, emptyTrace, missingColumn } from "../model/errors.ts";

export interface Row {
  /** File and line, for error messages. */
  readonly place: string;
  text(column: string): string;
  /** Throws a UserError unless the field is a finite number of at least `least`. */
  number(column: string, bounds: { readonly least: number; readonly whole?: boolean }): number;
  /** A finite number, or undefined if the field is empty, None or no number. */
  optional(column: string): number | undefined;
}

export type Rows = readonly Row[];

/** Throws a UserError if the file has no rows. `columns`: those that it must have. */
export function readRows(content: string, file: string, columns: readonly string[] = []): Rows {
  const [head, ...lines] = csvRows(content);
  const header = head?.fields.map((name) => name.trim()) ?? [];
  for (const column of columns)
    if (!header.includes(column)) throw missingColumn(file, column, header);
  const rows = lines
    .filter(({ fields }) => fields.length > 1 || fields[0]?.trim() !== "")
    .map(({ line, fields }) => rowOf(header, fields, `${file}, line ${line}`));
  if (rows.length === 0) throw emptyTrace(file);
  return rows;
}

/** A time in seconds: a number, or a date and time (UTC unless it says otherwise). */
export function timeOf(row: Row, column: string): number {
  const given = row.text(column);
  const number = given === "" ? Number.NaN : Number(given);
  if (Number.isFinite(number)) return number;
  const zoned = /([zZ]|[+-]\d\d:?\d\d)$/.test(given);
  const date = Date.parse(`${given.replace(" ", "T")}${zoned ? "" : "Z"}`) / 1000;
  if (!Number.isFinite(date))
    throw badField(row.place, column, given, "seconds or a date and time");
  return date;
}

export function rowOf(header: readonly string[], fields: readonly string[], place: string): Row {
  const text = (column: string): string => fields[header.indexOf(column)]?.trim() ?? "";
  return {
    place,
    text,
    number(column, { least, whole = false }) {
      const given = text(column).trim();
      const value = given === "" ? Number.NaN : Number(given);
      if (
        !(value >= least && value < Number.POSITIVE_INFINITY) ||
        (whole && !Number.isInteger(value))
      )
        throw badField(
          place,
          column,
          given,
          `a ${whole ? "whole " : ""}number of at least ${least}`,
        );
      return value;
    },
    optional(column) {
      const given = text(column).trim();
      const value = given === "" ? Number.NaN : Number(given);
      return Number.isFinite(value) ? value : undefined;
    },
  };
}
