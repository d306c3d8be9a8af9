// Fields may be quoted, a quote inside is doubled, and a quoted field may span lines.

export interface CsvRow {
  readonly line: number; // from 1
  readonly fields: readonly string[];
}

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

const FIELD = /(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r?\n|$)/g;
