// Tables in Markdown, with pipes.

export type Side = "left" | "right";

export function table(
  titles: readonly string[],
  sides: readonly Side[],
  rows: readonly (readonly string[])[],
): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [titles, ...rows]
    .map((row) => line(row.map(escapeMarkdown)))
    .toSpliced(1, 0, line(sides.map((side) => (side === "left" ? "---" : "--:"))));
}

/** One line of plain text that is safe inside a table. */
export const escapeMarkdown = (text: string): string =>
  text.replace(/[\\|`*_<>]|(?<=\])\(/g, "\\$&").replace(/\s+/g, " ");
