// The frame of a picture in an SVG file: ground, font, and what it says to readers who cannot see it. It needs no other
// file, is dark where its reader wants that, and shrinks with its window.
import { type Colour, type Markup, pageColours, words } from "#core";
import { GREY } from "./ink.ts";
import { svgElement } from "./svg-element.ts";

interface Picture {
  readonly width: number;
  readonly height: number;
  readonly title: string;
  readonly description: string;
}

export function svgPicture(
  { width, height, title, description }: Picture,
  ...inside: readonly Markup[]
): string {
  return `${svgElement(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      style: "max-width:100%;height:auto",
      role: "img",
      "aria-labelledby": "title desc",
      "font-family":
        "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
      "font-size": 12,
      // Small pictures have the same line widths as large ones.
      "text-rendering": "geometricPrecision",
      fill: pageColours.ink.light,
    },
    svgElement("title", { id: "title" }, words(title)),
    svgElement("desc", { id: "desc" }, words(description)),
    darkStyle(),
    svgElement("rect", {
      x: 0.5,
      y: 0.5,
      width: width - 1,
      height: height - 1,
      rx: 10,
      fill: pageColours.ground.light,
      stroke: pageColours.line.light,
    }),
    ...inside,
  )}\n`;
}

/** Further colours of single pictures. Their light variants stand where they are drawn. */
const pictureColours: readonly Colour[] = [
  { light: "#000000", dark: "#ffffff" },
  { light: "#0072b2", dark: "#2f8fd0" },
  { light: "#8c959f", dark: "#7d8894" },
];

/**
 * Makes a picture dark where its reader wants that. The light colours stay in the attributes, for programs that draw SVG
 * without style sheets.
 */
function darkStyle(): Markup {
  const { ground, raised, ink, quiet, line, idle, good } = pageColours;
  const rules = [ground, raised, ink, quiet, line, idle, good, ...pictureColours].map(
    ({ light, dark }) => `[fill="${light}"]{fill:${dark}}[stroke="${light}"]{stroke:${dark}}`,
  );
  const sheet = `@media screen and (prefers-color-scheme:dark){${rules.join("")}}`;
  return svgElement("style", {}, sheet as Markup);
}

export const svgText = (
  x: number,
  y: number,
  content: string,
  attributes: Readonly<Record<string, string | number>> = {},
): Markup => svgElement("text", { x, y, ...attributes }, words(content));

/** Width of a character in a sans-serif font of size 1. It is generous, because it cannot be measured here. */
function advance(character: string): number {
  if (/[^ -\u{2ff}…]/u.test(character)) return 1.05;
  if (/[ijl.,:;|'!()[\]]/.test(character)) return 0.28;
  if (/[ftr\- ]/.test(character)) return 0.36;
  if (/[mwMW%@=+<>~_]/.test(character)) return 0.88;
  return /[A-Z0-9]/.test(character) ? 0.64 : 0.57;
}

export const textWidth = (text: string, size: number): number =>
  size * [...text].reduce((sum, character) => sum + advance(character), 0);

/** How much wider bold text is. */
export const BOLD = 1.2;

/** The text, cut to what fits, with an ellipsis. */
export function fitText(text: string, size: number, width: number): string {
  if (textWidth(text, size) <= width) return text;
  const kept = [...text];
  while (kept.length > 1 && textWidth(kept.join(""), size) + size > width) kept.pop();
  return `${kept.join("").trimEnd()}…`;
}

/** The title of a picture, and a quiet line of what it shows, both cut to what fits. */
export const svgHeading = (x: number, width: number, title: string, about?: string): Markup[] => [
  svgText(x, 31, fitText(title, 17 * BOLD, width), { "font-size": 17, "font-weight": 600 }),
  ...(about === undefined ? [] : [svgText(x, 50, fitText(about, 12, width), { fill: GREY })]),
];
