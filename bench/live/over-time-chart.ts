// Latency and best-effort throughput over time as one SVG: a line for each arrangement, a band for each step of load.
import { GREY, INK, SMALL, text } from "#bench";
import { type Markup, short, svgElement, words } from "#core";
import type { Bin } from "./binned.ts";

export interface OverTime {
  readonly high: string;
  readonly bestEffort: string;
  readonly gpu: string;
  readonly binS: number;
  readonly steps: readonly { readonly seconds: number; readonly ratePerS: number }[];
  readonly arrangements: readonly { readonly name: string; readonly bins: readonly Bin[] }[];
}

// Told apart with any colour vision (Okabe and Ito); the first is the high job alone.
const colours = ["#000000", "#d55e00", "#e69f00", "#0072b2", "#009e73", "#cc79a7"];

const WIDTH = 760;
const LEFT = 62;
const RIGHT = 18;
const HEIGHT = { latency: 190, kept: 120 };
const TOP = 104;
const GAP = 44;

interface Panel {
  readonly top: number;
  readonly height: number;
  /** Where a value lies, down from `top`. */
  readonly y: (value: number) => number;
  readonly ticks: readonly number[];
  readonly name: string;
  readonly of: (bin: Bin) => number | null;
}

export function overTimeChart(seen: OverTime): string {
  const seconds = seen.steps.reduce((sum, step) => sum + step.seconds, 0);
  const x = (s: number) => LEFT + (s / seconds) * (WIDTH - LEFT - RIGHT);
  const panels = [latencyPanel(seen), keptPanel(seen)];
  const height = TOP + HEIGHT.latency + GAP + HEIGHT.kept + 48;
  const about = `${seen.high} beside ${seen.bestEffort} while its load changes`;
  return `${svgElement(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${WIDTH} ${height}`,
      width: WIDTH,
      height,
      role: "img",
      "aria-labelledby": "title",
      "font-family":
        "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
      "font-size": 12,
      fill: INK,
    },
    svgElement("title", { id: "title" }, words(about)),
    svgElement("rect", {
      x: 0.5,
      y: 0.5,
      width: WIDTH - 1,
      height: height - 1,
      rx: 10,
      fill: "#fff",
      stroke: "#d1d9e0",
    }),
    text(20, 31, about, { "font-size": 17, "font-weight": 600 }),
    text(20, 50, `${seen.gpu} · bins of ${seen.binS * 1000} ms · arrival to done`, { fill: GREY }),
    ...legend(seen),
    ...panels.flatMap((panel) => drawn(panel, seen, x)),
    ...timeAxis(seconds, x, height - 30),
  )}\n`;
}

const finite = (values: readonly (number | null)[]): number[] =>
  values.filter((value): value is number => value !== null && Number.isFinite(value));

function latencyPanel({ arrangements }: OverTime): Panel {
  const all = finite(arrangements.flatMap(({ bins }) => bins.map(({ p99Ms }) => p99Ms)));
  const low = Math.log10(Math.min(1, ...all) / 1.1);
  const high = Math.log10(Math.max(10, ...all) * 1.1);
  const height = HEIGHT.latency;
  return {
    top: TOP,
    height,
    y: (value) => height - ((Math.log10(value) - low) / (high - low)) * height,
    ticks: [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].filter(
      (tick) => Math.log10(tick) >= low && Math.log10(tick) <= high,
    ),
    name: "p99, ms (log)",
    of: ({ p99Ms }) => p99Ms,
  };
}

function keptPanel({ arrangements }: OverTime): Panel {
  const all = finite(arrangements.flatMap(({ bins }) => bins.map(({ kept }) => kept)));
  const top = Math.max(1.1, ...all);
  const height = HEIGHT.kept;
  return {
    top: TOP + HEIGHT.latency + GAP,
    height,
    y: (value) => height - (value / top) * height,
    ticks: [0, 0.25, 0.5, 0.75, 1],
    name: "best-effort kept",
    of: ({ kept }) => kept,
  };
}

function drawn(panel: Panel, seen: OverTime, x: (s: number) => number): Markup[] {
  const { top, height, y, ticks, name, of } = panel;
  const right = WIDTH - RIGHT;
  const lines = seen.arrangements.map(({ name: arrangement, bins }, i) => {
    const points = bins.flatMap((bin) => {
      const value = of(bin);
      const at = x(bin.fromS + seen.binS / 2);
      return value === null || !(value > 0) ? [] : [`${short(at)} ${short(y(value))}`];
    });
    return svgElement(
      "path",
      {
        d: points.length > 0 ? `M${points.join("L")}` : "M0 0",
        fill: "none",
        stroke: colours[i % colours.length] ?? INK,
        "stroke-width": 1.8,
        "stroke-linejoin": "round",
      },
      svgElement("title", {}, words(arrangement)),
    );
  });
  return [
    svgElement(
      "g",
      { class: "panel", transform: `translate(0 ${top})` },
      ...bands(seen, x, height),
      ...ticks.flatMap((tick) => [
        svgElement("path", { d: `M${LEFT} ${short(y(tick))}H${right}`, stroke: "#e6e8eb" }),
        text(LEFT - 8, y(tick) + 4, String(tick), {
          "text-anchor": "end",
          "font-size": SMALL,
          fill: GREY,
        }),
      ]),
      svgElement(
        "text",
        {
          transform: `translate(18 ${height / 2}) rotate(-90)`,
          "text-anchor": "middle",
          fill: GREY,
        },
        words(name),
      ),
      ...lines,
    ),
  ];
}

/** Every second step is shaded, and each says how many requests come. */
function bands({ steps }: OverTime, x: (s: number) => number, height: number): Markup[] {
  let from = 0;
  return steps.flatMap(({ seconds, ratePerS }, i) => {
    const left = x(from);
    from += seconds;
    const width = x(from) - left;
    const shade = { x: left, y: 0, width, height, fill: i % 2 === 0 ? "#f6f8fa" : "#fff" };
    const label = { "text-anchor": "middle", "font-size": SMALL, fill: GREY };
    return [
      svgElement("rect", shade),
      text(left + width / 2, -5, `${ratePerS.toFixed(0)} requests/s`, label),
    ];
  });
}

function legend({ arrangements }: OverTime): Markup[] {
  let at = 20;
  return arrangements.flatMap(({ name }, i) => {
    const left = at;
    at += 34 + 6.6 * name.length;
    return [
      svgElement("path", {
        d: `M${short(left)} 71h18`,
        stroke: colours[i % colours.length] ?? INK,
        "stroke-width": 2.4,
      }),
      text(left + 23, 75, name),
    ];
  });
}

const timeAxis = (seconds: number, x: (s: number) => number, y: number): Markup[] => [
  ...Array.from({ length: Math.floor(seconds) + 1 }, (_, s) =>
    text(x(s), y, String(s), { "text-anchor": "middle", "font-size": SMALL, fill: GREY }),
  ),
  text(WIDTH / 2, y + 18, "seconds", { "text-anchor": "middle", fill: GREY }),
];
