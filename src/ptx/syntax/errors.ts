import { UserError } from "#core";

/** Columns count characters from 1, as editors do. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Nodes that a pass has made get the position of the file's first character. */
export function positionOf(source: string, at: number): Position {
  const starts = source === lastSource ? lastStarts : lineStarts(source);
  lastSource = source;
  lastStarts = starts;
  let low = 0;
  let high = starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= at) low = middle;
    else high = middle;
  }
  return { line: low + 1, column: Math.max(at, 0) - (starts[low] ?? 0) + 1 };
}

let lastSource = "";
let lastStarts: readonly number[] = [0];

function lineStarts(source: string): readonly number[] {
  const starts = [0];
  for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1))
    starts.push(at + 1);
  return starts;
}

const LONGEST_EXCERPT = 40;

function excerpt(source: string, at: number): string {
  const newline = source.indexOf("\n", at);
  const end = newline < 0 ? source.length : newline;
  if (at >= source.length) return "the end of the file";
  if (end === at) return "the end of the line";
  const text = source.slice(at, Math.min(end, at + LONGEST_EXCERPT)).trimEnd();
  return `"${text}${end > at + LONGEST_EXCERPT ? "..." : ""}"`;
}

export class PtxError extends UserError {
  readonly line: number;
  readonly column: number;

  constructor(source: string, at: number, wanted: string) {
    const { line, column } = positionOf(source, at);
    super("BAD_PTX", `Line ${line}, column ${column}: ${wanted} at ${excerpt(source, at)}.`);
    this.name = "PtxError";
    this.line = line;
    this.column = column;
  }
}
