// A wide character takes two columns, a combining one none, a colour none.
import measure from "fast-string-truncated-width";

const ELLIPSIS = "…";

export const displayWidth = (text: string): number => measure(text).width;

let segmenter: Intl.Segmenter | undefined;

/** Loading its tables takes milliseconds, and every command imports this file. */
function charactersOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return segmenter.segment(text);
}

export function truncate(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  if (columns <= 0) return "";
  let cut = "";
  let room = columns - displayWidth(ELLIPSIS);
  for (const { segment } of charactersOf(text)) {
    room -= displayWidth(segment);
    if (room < 0) break;
    cut += segment;
  }
  return `${cut}${ELLIPSIS}`;
}

const blanks = (text: string, columns: number) =>
  " ".repeat(Math.max(0, columns - displayWidth(text)));

export const padEnd = (text: string, columns: number): string => text + blanks(text, columns);
export const padStart = (text: string, columns: number): string => blanks(text, columns) + text;
