// Text has a contrast of at least 4.5 to its ground, and lines of charts of at least 3. Data have
// the colours of Okabe and Ito, some darker or lighter, for any colour vision.

export interface Colour {
  readonly light: string;
  readonly dark: string;
}

export const pageColours = {
  ground: { light: "#ffffff", dark: "#0f1419" },
  raised: { light: "#f6f8fa", dark: "#182028" },
  ink: { light: "#1f2328", dark: "#e6edf3" },
  quiet: { light: "#59636e", dark: "#9aa7b4" },
  line: { light: "#d1d9e0", dark: "#34404c" },
  link: { light: "#0a58b0", dark: "#7cb8ff" },
  service: { light: "#0072b2", dark: "#4fa8e0" },
  bestEffort: { light: "#009e73", dark: "#2dbd8f" },
  held: { light: "#e69f00", dark: "#f0b429" },
  idle: { light: "#e6e8eb", dark: "#232c36" },
  bad: { light: "#b3261e", dark: "#ff8a80" },
  "bad-ground": { light: "#fdecea", dark: "#351a1b" },
  good: { light: "#00684c", dark: "#5fd0a8" },
} as const satisfies Readonly<Record<string, Colour>>;

const declarations = (colours: Readonly<Record<string, Colour>>, which: keyof Colour): string =>
  Object.entries(colours)
    .map(([name, colour]) => `  --${name}: ${colour[which]};`)
    .join("\n");

export const colourVariables = (colours: Readonly<Record<string, Colour>>): string => `:root {
  color-scheme: light dark;
${declarations(colours, "light")}
}
@media screen and (prefers-color-scheme: dark) {
  :root {
${declarations(colours, "dark").replace(/^/gm, "  ")}
  }
}
`;
