import { displayWidth, padEnd, padStart } from "./width.ts";

export const percent = (share: number): string =>
  `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;

export function micros(us: number | undefined): string {
  if (us === undefined) return "-";
  if (us < 1000) return `${us.toFixed(us < 10 ? 1 : 0)} us`;
  return us < 1e6 ? `${(us / 1e3).toFixed(2)} ms` : `${(us / 1e6).toFixed(2)} s`;
}

export const gibibytes = (bytes: number): string =>
  bytes < 2 ** 30 ? `${(bytes / 2 ** 20).toFixed(0)} MiB` : `${(bytes / 2 ** 30).toFixed(1)} GiB`;

/** Columns of words are aligned to the left: the first few, or those for which the list says so. */
export function table(
  rows: readonly (readonly string[])[],
  words: number | readonly boolean[],
): string[] {
  const isLeft = (i: number) => (typeof words === "number" ? i < words : words[i] === true);
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => displayWidth(row[column] ?? ""))),
  );
  return rows.map((row) =>
    row
      .map((cell, i) => (isLeft(i) ? padEnd : padStart)(cell, widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

export const wrap = (text: string, width: number): string[] =>
  text.split("\n").flatMap((line) => {
    const lines: string[] = [];
    let room = 0;
    for (const word of line.split(" ")) {
      const needed = displayWidth(word) + 1;
      if (lines.length > 0 && needed <= room) {
        lines[lines.length - 1] += ` ${word}`;
        room -= needed;
      } else {
        lines.push(word);
        room = width + 1 - needed;
      }
    }
    return lines;
  });
