// The sign of the corner in which both sides do well, drawn both around and in the panels of a chart.
import { type Markup, short } from "#core";
import { BETTER, svgElement } from "#drawing";

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
