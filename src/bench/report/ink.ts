// Colours, and the shapes that are drawn both around and in the panels of a chart.
import { type Markup, short, svgElement, words } from "#core";

export const INK = "#1f2328";
export const GREY = "#59636e";
export const FAINT = "#e6e8eb";
export const BETTER = "#00684c";
export const SMALL = 11;

export const text = (
  x: number,
  y: number,
  content: string,
  attributes: Readonly<Record<string, string | number>> = {},
): Markup => svgElement("text", { x, y, ...attributes }, words(content));

/** A green corner where both sides do well. */
export const betterCorner = (): Markup =>
  svgElement(
    "radialGradient",
    { id: "better", cx: 1, cy: 1, r: 1 },
    svgElement("stop", { offset: 0, "stop-color": "#009e73", "stop-opacity": 0.22 }),
    svgElement("stop", { offset: 1, "stop-color": "#009e73", "stop-opacity": 0 }),
  );

/** An arrow down and to the right, which ends at a corner. */
export const betterArrow = (x: number, y: number): Markup =>
  svgElement("path", {
    d: `M${short(x - 8)} ${short(y - 8)}L${short(x)} ${short(y)}m0 -6v6h-6`,
    fill: "none",
    stroke: BETTER,
    "stroke-width": 1.6,
  });
