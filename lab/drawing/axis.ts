// Round numbers along an axis, and its name.
import { type Markup, words } from "#core";
import { GREY, SMALL } from "./ink.ts";
import { svgText } from "./picture.ts";
import { svgElement } from "./svg-element.ts";

/** Round numbers from `from` on, at most `most` steps apart; `mantissas`: what a step may be, times a power of ten. */
export function roundTicks(
  from: number,
  to: number,
  most: number,
  mantissas: readonly number[] = [1, 2, 5, 10],
): number[] {
  const rough = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = mantissas.map((one) => one * power).find((one) => one >= rough) ?? rough;
  const count = Math.floor((to - from) / step + 1e-9);
  return Array.from({ length: count + 1 }, (_, i) => Number((from + i * step).toPrecision(12)));
}

/** The name of a y axis beside a panel of this height. */
export const yAxisName = (x: number, height: number, name: string): Markup =>
  svgElement(
    "text",
    {
      transform: `translate(${x} ${height / 2}) rotate(-90)`,
      "text-anchor": "middle",
      fill: GREY,
    },
    words(name),
  );

/** The name of an x axis. */
export const xAxisName = (x: number, y: number, name: string): Markup =>
  svgText(x, y, name, { "text-anchor": "middle", fill: GREY });

/** The number at a tick. */
export const tickLabel = (x: number, y: number, text: string, anchor: "middle" | "end"): Markup =>
  svgText(x, y, text, { "text-anchor": anchor, "font-size": SMALL, fill: GREY });
