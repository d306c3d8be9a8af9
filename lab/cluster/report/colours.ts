// How the curve of each scheduler looks, the same in all charts and tables: a colour, and another pattern of dashes each
// time that the colours repeat.
const palette = [
  { light: "#0072b2", dark: "#4fa8e0" },
  { light: "#b87400", dark: "#f0b429" },
  { light: "#2b8cc4", dark: "#9bd6f7" },
  { light: "#d55e00", dark: "#ff8b4a" },
  { light: "#b5568f", dark: "#e8a0c6" },
  { light: "#7b3fc4", dark: "#b794f6" },
  { light: "#767676", dark: "#b4b4b4" },
  { light: "#7a5c12", dark: "#b39a56" },
];
const ours = { light: "#008a64", dark: "#2dbd8f" };

/** Variables of the style sheet. */
export const curveColours = Object.fromEntries(
  [...palette, ours].map((colour, i) => [`curve${i}`, colour]),
);

export interface Look {
  /** Sets the colour of text and of curves. */
  readonly className: string;
  /** The class of its dashes; undefined where it has none. */
  readonly dashes: string | undefined;
}

/** Patterns after the colours without dashes: lengths of dashes and gaps, and the border of a swatch. */
const patterns = [
  { name: "dashed", dashes: "6 3", border: "dashed" },
  { name: "dotted", dashes: "1.5 2.5", border: "dotted" },
  { name: "dash-dotted", dashes: "8 3 1.5 3", border: "double" },
] as const;

export type Looks = ReadonlyMap<string, Look>;

export function looksFor(names: readonly string[]): Looks {
  let next = 0;
  return new Map(
    names.map((name) => {
      if (name === "cotenant")
        return [name, { className: `curve${palette.length}`, dashes: undefined }];
      const place = next++;
      const className = `curve${place % palette.length}`;
      const round = Math.floor(place / palette.length) % (patterns.length + 1);
      return [name, { className, dashes: patterns[round - 1]?.name }];
    }),
  );
}

export const lookStyle = [
  ...Object.keys(curveColours).map((name) => `.${name}{--curve:var(--${name})}`),
  ...patterns.flatMap(({ name, dashes, border }) => [
    `.curve.${name}{stroke-dasharray:${dashes}}`,
    `.swatch.${name}{border-top-style:${border}}`,
  ]),
].join("\n");
