// Only a terminal shows colours, and none where NO_COLOR is set (no-color.org).

export interface Paint {
  heading(text: string): string;
  aside(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  alarm(text: string): string;
  service(text: string): string;
  selected(text: string): string;
}

export type Style = keyof Paint;

const code =
  (begin: number, end: number) =>
  (text: string): string =>
    `\x1b[${begin}m${text}\x1b[${end}m`;

const colours: Paint = {
  heading: code(1, 22),
  aside: code(2, 22),
  good: code(32, 39),
  bad: code(33, 39),
  alarm: code(31, 39),
  service: code(36, 39),
  selected: code(7, 27),
};

const same = (text: string): string => text;
export const plain: Paint = {
  heading: same,
  aside: same,
  good: same,
  bad: same,
  alarm: same,
  service: same,
  selected: same,
};

export const paintFor = (
  { isTTY }: { readonly isTTY?: boolean } = process.stdout,
  { NO_COLOR }: Readonly<Record<string, string | undefined>> = process.env,
): Paint => (isTTY && !NO_COLOR ? colours : plain);
