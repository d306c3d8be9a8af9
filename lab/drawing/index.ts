// Pictures of results as SVG: what they are drawn with, axes, legends.
export { roundTicks, tickLabel, xAxisName, yAxisName } from "./axis.ts";
export { BETTER, FAINT, GREY, GROUND, INK, RAISED, SMALL } from "./ink.ts";
export { flow } from "./legend.ts";
export { BOLD, fitText, svgHeading, svgPicture, svgText, textWidth } from "./picture.ts";
export { svgElement } from "./svg-element.ts";
