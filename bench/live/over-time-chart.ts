// Latency and best-effort throughput over time as one SVG: a line for each arrangement, a band for each step of load.

import { type Markup, short, words } from "#core";
import {
  FAINT,
  fitText,
  flow,
  GREY,
  GROUND,
  INK,
  RAISED,
  roundTicks,
  SMALL,
  svgElement,
  svgHeading,
  svgPicture,
  svgText,
  textWidth,
  tickLabel,
  xAxisName,
  yAxisName,
} from "#drawing";
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
/** Above the legend, and of one of its lines. */
const HEAD = 82;
const LINE = 22;
const GAP = 44;

interface Panel {
  readonly top: number;
  readonly height: number;
  /** Where a value lies, down from `top`. */
  readonly y: (value: number) => number;
  /** The axis ends here; higher values are drawn at its end, with their value. */
  readonly most: number;
  readonly ticks: readonly number[];
  readonly name: string;
  readonly of: (bin: Bin) => number | null;
}

export function overTimeChart(seen: OverTime): string {
  const seconds = seen.steps.reduce((sum, step) => sum + step.seconds, 0);
  const x = (s: number) => LEFT + (s / seconds) * (WIDTH - LEFT - RIGHT);
  const entries = legend(seen);
  const top = HEAD + entries.height;
  const panels = [latencyPanel(seen, top), keptPanel(seen, top)];
  const height = top + HEIGHT.latency + GAP + HEIGHT.kept + 48;
  const title = `${seen.high} beside ${seen.bestEffort} while its load changes`;
  const peaks = seen.arrangements.map(({ name, bins }) => `${name}: ${rangeText(bins)}.`);
  return svgPicture(
    { width: WIDTH, height, title, description: peaks.join(" ") },
    ...svgHeading(
      20,
      WIDTH - 40,
      title,
      `${seen.gpu} · bins of ${seen.binS * 1000} ms · p99 from arrival to done · kept: throughput / alone`,
    ),
    ...entries.svg,
    ...panels.flatMap((panel) => drawn(panel, seen, x)),
    ...timeAxis(seconds, x, height - 30),
  );
}

/** For readers who cannot see the lines. */
function rangeText(bins: readonly Bin[]): string {
  const ms = finite(bins.map(({ p99Ms }) => p99Ms)).filter((value) => value > 0);
  const kept = finite(bins.map(({ kept }) => kept));
  const texts = [
    ...(ms.length > 0 ? [`p99 ${digits(Math.min(...ms))} to ${digits(Math.max(...ms))} ms`] : []),
    ...(kept.length > 0
      ? [`kept ${digits(Math.min(...kept))} to ${digits(Math.max(...kept))}`]
      : []),
  ];
  return texts.join(", ") || "no data";
}

const digits = (value: number): string => String(Number(value.toPrecision(3)));

const finite = (values: readonly (number | null)[]): number[] =>
  values.filter((value): value is number => value !== null && Number.isFinite(value));

function latencyPanel({ arrangements }: OverTime, top: number): Panel {
  const all = finite(arrangements.flatMap(({ bins }) => bins.map(({ p99Ms }) => p99Ms)));
  const low = Math.log10(Math.min(1, ...all.filter((value) => value > 0)) / 1.1);
  const most = Math.max(10, ...all) * 1.1;
  const high = Math.log10(most);
  const height = HEIGHT.latency;
  return {
    top,
    height,
    most,
    y: (value) => height - ((Math.log10(value) - low) / (high - low)) * height,
    ticks: logTicks(low, high),
    name: "p99, ms (log)",
    of: ({ p99Ms }) => p99Ms,
  };
}

/** 1, 2 and 5 of each power of ten, or where those are many, 1 alone. */
function logTicks(low: number, high: number): number[] {
  const powers = Array.from(
    { length: Math.floor(high) - Math.floor(low) + 1 },
    (_, i) => Math.floor(low) + i,
  );
  return powers
    .flatMap((power) => (powers.length > 5 ? [1] : [1, 2, 5]).map((n) => n * 10 ** power))
    .map((tick) => Number(tick.toPrecision(3)))
    .filter((tick) => Math.log10(tick) >= low && Math.log10(tick) <= high);
}

/** A bin with few iterations may be far above what the others keep. */
const MAX_KEPT = 1.5;

function keptPanel({ arrangements }: OverTime, above: number): Panel {
  const all = finite(arrangements.flatMap(({ bins }) => bins.map(({ kept }) => kept)));
  const most = Math.min(MAX_KEPT, Math.max(1.1, ...all));
  const height = HEIGHT.kept;
  return {
    top: above + HEIGHT.latency + GAP,
    height,
    most,
    y: (value) => height - (value / most) * height,
    ticks: [0, 0.25, 0.5, 0.75, 1],
    name: "best-effort kept",
    of: ({ kept }) => kept,
  };
}

function drawn(panel: Panel, seen: OverTime, x: (s: number) => number): Markup[] {
  const { top, height, most, y, ticks, name, of } = panel;
  const right = WIDTH - RIGHT;
  const lines = seen.arrangements.map(({ name: arrangement, bins }, i) => {
    const points = bins.flatMap((bin) => {
      const value = of(bin);
      const at = x(bin.fromS + seen.binS / 2);
      return value === null || !(value > 0)
        ? []
        : [`${short(at)} ${short(y(Math.min(value, most)))}`];
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
      svgElement("title", {}, words(`${arrangement}: ${rangeText(bins)}`)),
    );
  });
  return [
    svgElement(
      "g",
      { class: "panel", transform: `translate(0 ${top})` },
      ...bands(seen, x, height),
      ...ticks.flatMap((tick) => [
        svgElement("path", { d: `M${LEFT} ${short(y(tick))}H${right}`, stroke: FAINT }),
        tickLabel(LEFT - 8, y(tick) + 4, tickText(tick), "end"),
      ]),
      yAxisName(18, height, name),
      ...lines,
      ...beyond(panel, seen, x),
    ),
  ];
}

/** Large ones are short, since the axis has its name beside them: 10K, 1M. */
const tickText = (tick: number): string =>
  tick < 10_000 ? String(tick) : new Intl.NumberFormat("en", { notation: "compact" }).format(tick);

/** The highest value of each line that goes beyond the panel, at its place. */
const beyond = ({ most, of }: Panel, seen: OverTime, x: (s: number) => number): Markup[] =>
  seen.arrangements.flatMap(({ bins }, i) => {
    const highest = bins.reduce((a, b) => ((of(b) ?? 0) > (of(a) ?? 0) ? b : a), bins[0] as Bin);
    const value = highest ? of(highest) : null;
    if (value === null || value <= most) return [];
    const peak = x(highest.fromS + seen.binS / 2);
    const [at, anchor] = peak > WIDTH / 2 ? [peak - 6, "end"] : [peak + 6, "start"];
    const fill = colours[i % colours.length] ?? INK;
    const look = { "text-anchor": anchor, "font-size": SMALL, fill };
    return [svgText(at, 12, `↑ ${digits(value)}`, look)];
  });

/** Every second step is shaded, and each says how many requests come. */
function bands({ steps }: OverTime, x: (s: number) => number, height: number): Markup[] {
  let from = 0;
  return steps.flatMap(({ seconds, ratePerS }, i) => {
    const left = x(from);
    from += seconds;
    const width = x(from) - left;
    const shade = { x: left, y: 0, width, height, fill: i % 2 === 0 ? RAISED : GROUND };
    const label = { "text-anchor": "middle", "font-size": SMALL, fill: GREY };
    const rate = `${ratePerS.toFixed(0)} requests/s`;
    const fitting = [rate, `${ratePerS.toFixed(0)}/s`].filter(
      (one) => textWidth(one, SMALL) <= width,
    );
    return [
      svgElement("rect", shade, svgElement("title", {}, words(rate))),
      ...fitting.slice(0, 1).map((one) => svgText(left + width / 2, -5, one, label)),
    ];
  });
}

function legend({ arrangements }: OverTime): { readonly svg: Markup[]; readonly height: number } {
  const labels = arrangements.map(({ name }) => fitText(name, 12, WIDTH - 80));
  const { at, y } = flow(
    { left: 20, right: WIDTH - RIGHT, y: HEAD - 11, line: LINE, gap: 14 },
    labels.map((label) => 23 + textWidth(label, 12)),
  );
  const svg = at.flatMap((place, i) => [
    svgElement("path", {
      d: `M${short(place.x)} ${place.y}h18`,
      stroke: colours[i % colours.length] ?? INK,
      "stroke-width": 2.4,
    }),
    svgText(place.x + 23, place.y + 4, labels[i] ?? ""),
  ]);
  return { svg, height: y + LINE + 11 - HEAD };
}

function timeAxis(seconds: number, x: (s: number) => number, y: number): Markup[] {
  return [
    ...roundTicks(0, seconds, 12).map((tick) => tickLabel(x(tick), y, digits(tick), "middle")),
    xAxisName(WIDTH / 2, y + 18, "seconds"),
  ];
}
