// Entries of a legend in lines that break where the picture ends.

interface Flow {
  readonly left: number;
  readonly right: number;
  /** Position of the first line. */
  readonly y: number;
  readonly line: number;
  readonly gap: number;
}

/** Places entries of these widths one after the other; `y`: the last line's. */
export function flow(
  { left, right, y: first, line, gap }: Flow,
  widths: readonly number[],
): { readonly at: readonly { readonly x: number; readonly y: number }[]; readonly y: number } {
  let x = left;
  let y = first;
  const at = widths.map((width) => {
    if (x > left && x + width > right) {
      x = left;
      y += line;
    }
    const place = { x, y };
    x += width + gap;
    return place;
  });
  return { at, y };
}
