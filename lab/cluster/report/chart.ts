// A chart of curves over one axis, a curve for each scheduler. The curves are SVG that is stretched to the width of the
// page, all text is HTML: so text has the same size on a phone and on paper.
import { element, type Markup, short, words } from "#core";
import { type Axis, axisFor } from "./axis.ts";
import type { Look } from "./colours.ts";
import type { Readable } from "./script.ts";

export interface Curve {
  readonly name: string;
  readonly look: Look;
  /** One for each point of x. */
  readonly values: readonly number[];
  /** The figure that stands for the whole curve. */
  readonly summary: string;
}

export interface Chart {
  /** A question that the chart answers. */
  readonly title: string;
  /** Title of the y axis, with its unit. */
  readonly y: string;
  /** Title of the x axis, with its unit, and the name of one of its points. */
  readonly x: string;
  readonly pointName: (x: number) => string;
  readonly xs: readonly number[];
  readonly xTicks: readonly number[];
  readonly logarithmic?: boolean;
  readonly curves: readonly Curve[];
  readonly format: (value: number) => string;
  /** The y axis starts here. */
  readonly from: number;
  /** And reaches at least this far. */
  readonly atLeast?: number;
  /** Name of each curve's `summary`. */
  readonly summaryName: string;
  /** The chart's finding, in a sentence. Without it, the highest and the lowest peak. */
  readonly finding?: string;
}

/** Width of the SVG's box. */
const SIZE = 1000;

export function drawChart(chart: Chart): Markup {
  const { curves, title, y, x, summaryName } = chart;
  const axis = axisFor(
    curves.map(({ values }) => values),
    chart.from,
    chart.atLeast ?? chart.from,
  );
  const finding = chart.finding ?? peaksOf(chart);
  const about = `${title} ${y}, over ${x}. ${finding} ${summaryName}: ${curves.map(({ name, summary }) => `${name} ${summary}`).join(", ")}. Arrow keys read single points.`;
  return element(
    "figure",
    { class: "chart" },
    element(
      "figcaption",
      {},
      element("h3", {}, words(title)),
      element("p", { class: "finding" }, words(finding)),
      element("p", { class: "axis" }, words(`${y}, over ${x}`)),
    ),
    ...beyond(chart, axis),
    element(
      "div",
      { class: "plot", role: "img", tabindex: 0, "aria-label": about },
      ...plot(chart, axis),
    ),
    values(chart),
    element(
      "script",
      { type: "application/json" },
      JSON.stringify(readable(chart)).replaceAll("<", "\\u003c") as Markup,
    ),
  );
}

function plot(chart: Chart, axis: Axis): Markup[] {
  const across = placeOf(chart);
  const up = (value: number) =>
    SIZE * (1 - (Math.min(value, axis.to) - axis.from) / (axis.to - axis.from));
  const label = (className: string, style: string, text: string) =>
    element("span", { class: className, style, "aria-hidden": "true" }, words(text));
  return [
    element(
      "svg",
      { viewBox: `0 0 ${SIZE} ${SIZE}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      ...axis.ticks.map((tick) =>
        element("line", { class: "grid", x1: 0, x2: SIZE, y1: up(tick), y2: up(tick) }),
      ),
      ...chart.curves.map(({ name, look, values }) =>
        element(
          "polyline",
          {
            class: `curve ${classesOf(look)}`,
            "data-name": name,
            points: values
              .map((value, i) => `${short(SIZE * across(chart.xs[i] ?? 0))},${short(up(value))}`)
              .join(" "),
          },
          element("title", {}, words(name)),
        ),
      ),
    ),
    ...axis.ticks.map((tick) => label("y", `top:${short(up(tick) / 10)}%`, chart.format(tick))),
    ...chart.xTicks.map((tick) => label("x", `left:${short(100 * across(tick))}%`, String(tick))),
    ...highest(chart)
      .filter(({ value }) => value > axis.to)
      .map(({ curve, x }) =>
        label(`peak ${curve.look.className}`, `left:${short(100 * across(x))}%`, "▲"),
      ),
    element("span", { class: "at", hidden: "" }),
  ];
}

/** In parts of the width. */
function placeOf({ xs, logarithmic }: Chart): (x: number) => number {
  const scale = logarithmic ? (x: number) => Math.log10(Math.max(1e-9, x)) : (x: number) => x;
  const [left, right] = [scale(xs[0] ?? 0), scale(xs.at(-1) ?? 1)];
  return (x) => (scale(x) - left) / Math.max(1e-9, right - left);
}

const highest = ({ curves, xs }: Chart) =>
  curves.map((curve) => {
    const value = curve.values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    return { curve, value, x: xs[curve.values.indexOf(value)] ?? 0 };
  });

function peaksOf(chart: Chart): string {
  const [first, ...others] = highest(chart).sort((a, b) => b.value - a.value);
  const last = others.at(-1);
  if (!first || !Number.isFinite(first.value)) return "No data.";
  const text = chart.format;
  const peak = `Highest: ${first.curve.name}, ${text(first.value)} at ${chart.pointName(first.x)}.`;
  if (!last) return peak;
  return `${peak} Lowest peak: ${last.curve.name}, ${text(last.value)}.`;
}

/** Values beyond the axis, in words. */
function beyond(chart: Chart, axis: Axis): Markup[] {
  const texts = highest(chart)
    .filter(({ value }) => value > axis.to)
    .map(
      ({ curve, value, x }) =>
        `${curve.name} up to ${chart.format(value)} at ${chart.pointName(x)}`,
    );
  if (texts.length === 0) return [];
  const text = `▲ The axis ends at ${chart.format(axis.to)}, so that the other curves can be distinguished. Beyond it: ${texts.join("; ")}.`;
  return [element("p", { class: "beyond" }, words(text))];
}

const classesOf = ({ className, dashes }: Look): string =>
  dashes === undefined ? className : `${className} ${dashes}`;

export const swatch = (look: Look): Markup =>
  element("span", { class: `swatch ${classesOf(look)}` });

const values = ({ curves, summaryName }: Chart): Markup =>
  element(
    "div",
    { role: "status" },
    element("p", { class: "where" }, words(`${summaryName}:`)),
    element(
      "ul",
      { class: "values" },
      ...curves.map(({ name, look, summary }) =>
        element("li", {}, swatch(look), words(name), element("b", {}, words(summary))),
      ),
    ),
  );

function readable(chart: Chart): Readable {
  const place = placeOf(chart);
  return {
    places: chart.xs.map((x) => Number(place(x).toFixed(5))),
    names: chart.xs.map((x) => chart.pointName(x)),
    values: chart.curves.map(({ values }) => values.map(chart.format)),
  };
}
