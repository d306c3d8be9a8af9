// Colours of text on a terminal. Elsewhere, and where NO_COLOR is set (no-color.org), text stays as it is.

export interface Paint {
  heading(text: string): string;
  aside(text: string): string;
  good(text: string): string;
  bad(text: string): string;
}

const code =
  (begin: number, end: number) =>
  (text: string): string =>
    `\x1b[${begin}m${text}\x1b[${end}m`;

const colours: Paint = {
  heading: code(1, 22),
  aside: code(2, 22),
  good: code(32, 39),
  bad: code(33, 39),
};

const same = (text: string): string => text;
export const plain: Paint = { heading: same, aside: same, good: same, bad: same };

export const paintFor = (
  { isTTY }: { readonly isTTY?: boolean } = process.stdout,
  { NO_COLOR }: Readonly<Record<string, string | undefined>> = process.env,
): Paint => (isTTY && !NO_COLOR ? colours : plain);
