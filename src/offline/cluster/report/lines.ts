// A chart of curves over one axis, such as a metric over the day, a curve for each scheduler.
import { element, joinMarkup, type Markup, words } from "#core";

interface Curve {
  readonly name: string;
  readonly colour: string;
  /** x rises. */
  readonly points: readonly (readonly [number, number])[];
}

export interface LineChart {
  readonly title: string;
  readonly x: string;
  readonly curves: readonly Curve[];
  readonly format: (value: number) => string;
  /** The y axis starts here. */
  readonly from: number;
  /** And reaches at least this far. */
  readonly atLeast?: number;
  /** Steps of x between ticks; powers of ten instead when it is logarithmic. */
  readonly xStep: number;
  readonly logarithmic?: boolean;
  readonly xFormat: (value: number) => string;
}

const WIDTH = 520;
const HEIGHT = 230;
const LEFT = 54;
const RIGHT = 12;
const TOP = 34;
const BOTTOM = 40;
const INK = "#1f2328";
const GREY = "#59636e";
const FAINT = "#e6e8eb";

export function lineChart(chart: LineChart): Markup {
  const all = chart.curves.flatMap(({ points }) => points);
  const place = chart.logarithmic ? (x: number) => Math.log10(Math.max(1e-9, x)) : (x: number) => x;
  const xs = all.map(([x]) => place(x));
  const ys = all.map(([, y]) => y);
  const [left, right] = [least(xs, 0), most(xs, 1)];
  const ticks = yTicks(chart.from, Math.max(chart.atLeast ?? 0, most(ys, 1)));
  const top = ticks.at(-1) ?? 1;
  const sx = (x: number) =>
    LEFT + ((place(x) - left) / Math.max(1e-9, right - left)) * (WIDTH - LEFT - RIGHT);
  const sy = (y: number) =>
    TOP + (1 - (y - chart.from) / (top - chart.from)) * (HEIGHT - TOP - BOTTOM);
  const text = (
    x: number,
    y: number,
    content: string,
    more: Readonly<Record<string, string | number>> = {},
  ) => element("text", { x, y, "font-size": 11, fill: GREY, ...more }, words(content));
  return element(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": chart.title,
      xmlns: "http://www.w3.org/2000/svg",
    },
    element(
      "text",
      { x: 4, y: 16, "font-size": 13, "font-weight": 600, fill: INK },
      words(chart.title),
    ),
    ...ticks.map((y) =>
      joinMarkup([
        element("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: sy(y), y2: sy(y), stroke: FAINT }),
        text(LEFT - 6, sy(y) + 4, chart.format(y), { "text-anchor": "end" }),
      ]),
    ),
    ...xTicks(chart, left, right).map((x) =>
      text(sx(x), HEIGHT - BOTTOM + 16, chart.xFormat(x), { "text-anchor": "middle" }),
    ),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, chart.x, { "text-anchor": "middle" }),
    ...chart.curves.map(({ name, colour, points }) =>
      element(
        "polyline",
        {
          points: points
            .map(([x, y]) => `${sx(x).toFixed(1)},${sy(Math.min(y, top)).toFixed(1)}`)
            .join(" "),
          fill: "none",
          stroke: colour,
          "stroke-width": 1.8,
          "stroke-linejoin": "round",
        },
        element("title", {}, words(name)),
      ),
    ),
  );
}

// Spreading tens of thousands of points into Math.min would overflow the stack.
const least = (values: readonly number[], none: number): number =>
  values.length === 0 ? none : values.reduce((a, b) => Math.min(a, b));
const most = (values: readonly number[], none: number): number =>
  values.length === 0 ? none : values.reduce((a, b) => Math.max(a, b));

/** Four to six round numbers from `from` to above `to`. */
function yTicks(from: number, to: number): number[] {
  const span = Math.max(1e-6, to - from);
  const raw = span / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= raw) ?? raw;
  return Array.from({ length: Math.ceil(span / step - 1e-9) + 1 }, (_, i) => from + i * step);
}

function xTicks({ xStep, logarithmic }: LineChart, left: number, right: number): number[] {
  if (logarithmic) {
    const first = Math.ceil(left);
    return Array.from(
      { length: Math.max(0, Math.floor(right) - first + 1) },
      (_, i) => 10 ** (first + i),
    );
  }
  return Array.from({ length: Math.floor((right - left) / xStep) + 1 }, (_, i) => left + i * xStep);
}
