// CSV: fields may be quoted, a quote inside is doubled, a quoted field may span lines.
// Every row knows the line it begins on.

export interface CsvRow {
  /** From 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/** Empty lines are left out. */
export function csvRows(text: string): readonly CsvRow[] {
  const rows: CsvRow[] = [];
  let line = 1;
  let begins = 1;
  let fields: string[] = [];
  for (const match of text.matchAll(FIELD)) {
    const [whole, quoted, plain = "", end] = match;
    fields.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    line += whole.split("\n").length - 1;
    if (end !== ",") {
      if (fields.length > 1 || fields[0] !== "") rows.push({ line: begins, fields });
      fields = [];
      begins = line;
    }
  }
  return rows;
}

/** A field, quoted or plain, and what ends it: a comma, a line break or the end of the text. */
const FIELD = /(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r?\n|$)/g;
