import { displayWidth, type Paint, padEnd, type Style, truncate, wrap } from "#core";

export interface Span {
  readonly text: string;
  readonly style?: Style | undefined;
}

export type Line = readonly Span[];

export const span = (text: string, style?: Style): Span => ({ text, style });
export const line = (text: string, style?: Style): Line => [span(text, style)];
export const blank: Line = [];

export const textOf = (of: Line): string => of.map(({ text }) => text).join("");

export function cut(of: Line, columns: number): Line {
  let room = columns;
  const spans: Span[] = [];
  for (const { text, style } of of) {
    if (room <= 0) break;
    spans.push({ text: truncate(text, room), style });
    room -= displayWidth(text);
  }
  return spans;
}

export const bar = (of: Line, columns: number, style: Style): Line =>
  line(padEnd(truncate(textOf(of), columns), columns), style);

/** Lines after the first start with the indent. */
export function wrapped(
  text: string,
  columns: number,
  indent = "",
  style?: Style,
): readonly Line[] {
  const room = columns - displayWidth(indent);
  return wrap(text, room).map((one, i) => line(`${i > 0 ? indent : ""}${one}`, style));
}

export const painted = (of: Line, paint: Paint): string =>
  of.map(({ text, style }) => (style ? paint[style](text) : text)).join("");
