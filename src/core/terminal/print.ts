// Numbers, tables and text for people.

export const percent = (share: number): string =>
  `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;

export function micros(us: number | undefined): string {
  if (us === undefined) return "-";
  if (us < 1000) return `${us.toFixed(us < 10 ? 1 : 0)} us`;
  return us < 1e6 ? `${(us / 1e3).toFixed(2)} ms` : `${(us / 1e6).toFixed(2)} s`;
}

export const gibibytes = (bytes: number): string =>
  bytes < 2 ** 30 ? `${(bytes / 2 ** 20).toFixed(0)} MiB` : `${(bytes / 2 ** 30).toFixed(1)} GiB`;

/**
 * A table with columns as wide as needed. Columns that hold words are aligned to the left, others to the right: the first
 * few, or those for which the list says so.
 */
export function table(
  rows: readonly (readonly string[])[],
  words: number | readonly boolean[],
): string[] {
  const isLeft = (i: number) => (typeof words === "number" ? i < words : words[i] === true);
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  return rows.map((row) =>
    row
      .map((cell, i) => (isLeft(i) ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

/** The text, cut to so many columns, with an ellipsis. */
export const truncate = (text: string, columns: number): string =>
  text.length > columns ? `${text.slice(0, Math.max(columns - 1, 0))}…` : text;

/**
 * Breaks the text at blanks into lines of at most `width` columns. A longer word gets its own line. Line breaks stay.
 */
export const wrap = (text: string, width: number): string[] =>
  text.split("\n").flatMap((line) => {
    const lines: string[] = [];
    for (const word of line.split(" ")) {
      const last = lines.at(-1);
      if (last !== undefined && last.length + 1 + word.length <= width)
        lines[lines.length - 1] = `${last} ${word}`;
      else lines.push(word);
    }
    return lines;
  });
