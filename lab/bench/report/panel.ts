// One panel of a chart: the frame, what is in it, and the axes.

import { type Markup, short, words } from "#core";
import {
  BOLD,
  FAINT,
  fitText,
  GREY,
  GROUND,
  SMALL,
  svgElement,
  svgText,
  textWidth,
  tickLabel,
  xAxisName,
  yAxisName,
} from "#drawing";
import { percent, times } from "#measure";
import { betterArrow } from "./better.ts";
import { drawMark, type Mark } from "./marks.ts";
import { type Box, beside, type Place, place, type Spot } from "./places.ts";
import type { Merged, Pair, Row } from "./rows.ts";
import type { Scale } from "./scale.ts";
import { besideText, loadText, pairText, runsText } from "./words.ts";

interface Point {
  readonly row: Row;
  /** The arrangement as the chart calls it. */
  readonly label: string;
  readonly mark: Mark;
  readonly kept: number;
  readonly slowdown: Merged;
  readonly ours: boolean;
}

export interface Panel {
  readonly pair: Pair;
  readonly points: readonly Point[];
  readonly failed: readonly Pick<Point, "row" | "label">[];
}

export interface Axes {
  readonly frame: Box;
  readonly x: Scale;
  readonly y: Scale;
}

export function drawPanel(panel: Panel, axes: Axes): readonly Markup[] {
  const { frame, x, y } = axes;
  const { pair, points } = panel;
  const taken: Box[] = points.flatMap((point) => around(spotOf(point, axes)));
  return [
    svgElement("title", {}, words(pairText(pair))),
    svgText(0, -22, fitText(pair.high, 13 * BOLD, frame.width), {
      "font-size": 13,
      "font-weight": 600,
    }),
    svgText(0, -7, fitText(`${besideText(pair)}, ${loadText(pair)}`, 12, frame.width), {
      fill: GREY,
    }),
    svgElement("rect", {
      x: 0.6 * frame.width,
      y: 0.55 * frame.height,
      width: 0.4 * frame.width,
      height: 0.45 * frame.height,
      fill: "url(#better)",
    }),
    ...x.ticks.map((tick) => line(x.at(tick), 0, x.at(tick), frame.height, FAINT)),
    ...y.ticks.map((tick) =>
      line(0, y.at(tick), frame.width, y.at(tick), tick === 1 ? "#8c959f" : FAINT),
    ),
    betterArrow(frame.width - 3, frame.height - 3),
    ...failedNote(panel, frame, taken),
    ...points.map((point) => interval(point, axes)),
    ...points.map((point) => drawPoint(point, axes)),
    ...labels(points, axes, taken),
  ];
}

const line = (x1: number, y1: number, x2: number, y2: number, stroke: string): Markup =>
  svgElement("line", { x1, y1, x2, y2, stroke });

function spotOf({ kept, slowdown }: Point, { x, y }: Axes): Spot {
  return {
    x: x.at(kept),
    y: y.at(slowdown.value),
    top: y.at(slowdown.high),
    bottom: y.at(positive(slowdown.low, slowdown.value)),
  };
}

/** The area that a point and its interval cover. */
const around = ({ x, y, top, bottom }: Spot): readonly Box[] => [
  { x: x - 7, y: y - 7, width: 14, height: 14 },
  { x: x - 2, y: top, width: 4, height: bottom - top },
];

const positive = (value: number, otherwise: number): number => (value > 0 ? value : otherwise);

function interval(point: Point, axes: Axes): Markup {
  const { x, top, bottom } = spotOf(point, axes);
  const { colour } = point.mark;
  return svgElement("line", {
    x1: x,
    y1: bottom,
    x2: x,
    y2: top,
    stroke: colour,
    "stroke-width": 1.5,
  });
}

function drawPoint({ row, label, kept, slowdown, mark }: Point, { x, y }: Axes): Markup {
  const { value, low, high } = slowdown;
  const about = `${label}: ${times(value)} [${times(low)}, ${times(high)}], ${percent(kept)} retained, ${runsText(row)}`;
  return svgElement(
    "g",
    { class: "point", transform: `translate(${short(x.at(kept))} ${short(y.at(value))})` },
    svgElement("title", {}, words(about)),
    drawMark(mark),
  );
}

/**
 * A name beside each point that has room for one. The legend has all names. A point beyond the chart has its value there,
 * or its name and value under it, with a line that leads to it. Those choose first, then Cotenant's points.
 */
function labels(points: readonly Point[], axes: Axes, taken: Box[]): readonly Markup[] {
  const spots = new Map(points.map((point) => [point, spotOf(point, axes)]));
  const isBeyond = ({ slowdown: { value } }: Point) => value > axes.y.top;
  const inOrder = [...spots].reverse();
  inOrder.sort(([a], [b]) => Number(isBeyond(b)) - Number(isBeyond(a)));
  return inOrder.flatMap(([point, spot]) => {
    const { label } = point;
    const beyond = `↑ ${times(point.slowdown.value)}`;
    const name = isBeyond(point) ? beyond : label;
    const width = textWidth(name, SMALL);
    const others = [...spots.values()].filter((other) => other !== spot);
    const found = place(beside(spot, width, 13, others), axes.frame, taken);
    if (!found && isBeyond(point)) return under(spot, `${label} ${beyond}`, axes.frame, taken);
    if (!found) return [];
    taken.push(found);
    return placedText(found, name);
  });
}

/** A text in the first free line under a point, with a line that leads to it. */
function under(spot: Spot, content: string, frame: Box, taken: Box[]): readonly Markup[] {
  const fitted = fitText(content, SMALL, frame.width - 12);
  const width = textWidth(fitted, SMALL);
  const most = frame.width - 4 - width;
  const wanted = spot.x - width / 2;
  const x = Math.min(Math.max(wanted, 4), most);
  const anchor = x === wanted ? "middle" : x === most ? "end" : "start";
  const top = Math.max(spot.y + 12, 0);
  const at = (y: number): Place => ({ x, y, width, height: 13, anchor });
  const lines = Math.max(1, Math.floor((frame.height - top) / 16));
  const down = Array.from({ length: lines }, (_, i) => at(top + 16 * i));
  const box = place(down, frame, taken) ?? at(top);
  taken.push(box);
  return [line(spot.x, spot.y + 7, spot.x, box.y + 1, GREY), placedText(box, fitted)];
}

/** The text has a rim of the ground's colour, because it may cross a line of the grid. */
function placedText({ x, y, width, anchor }: Place, content: string): Markup {
  const at = { start: x, middle: x + width / 2, end: x + width }[anchor];
  return svgText(at, y + 10.5, content, {
    "text-anchor": anchor,
    "font-size": SMALL,
    fill: GREY,
    stroke: GROUND,
    "stroke-width": 3,
    "stroke-linejoin": "round",
    "paint-order": "stroke",
  });
}

function failedNote({ failed }: Panel, frame: Box, taken: Box[]): readonly Markup[] {
  if (failed.length === 0) return [];
  const names = failed.map(({ label }) => label).join(", ");
  return [
    svgElement(
      "g",
      { class: "failed" },
      svgElement(
        "title",
        {},
        words(failed.map(({ row, label }) => `${label} ${runsText(row)}`).join("; ")),
      ),
      note(`failed: ${names}`, frame, taken),
    ),
  ];
}

/** A line at the panel's left side. */
function note(content: string, frame: Box, taken: Box[]): Markup {
  const fitted = fitText(content, SMALL, frame.width - 12);
  const width = textWidth(fitted, SMALL);
  const at = (y: number): Place => ({ x: 6, y, width, height: 13, anchor: "start" });
  const down = Array.from({ length: Math.floor(frame.height / 16) }, (_, i) => at(3 + 16 * i));
  const box = place(down, frame, taken) ?? at(3);
  taken.push(box);
  return placedText(box, fitted);
}

export function yAxis({ frame, y }: Axes, name: string): readonly Markup[] {
  return [
    ...y.ticks.map((tick) => tickLabel(-8, y.at(tick) + 4, `${tick}x`, "end")),
    yAxisName(-50, frame.height, `${name} (log)`),
  ];
}

export function xAxis({ frame, x }: Axes, name: string): readonly Markup[] {
  return [
    ...x.ticks.map((tick) => tickLabel(x.at(tick), frame.height + 16, percent(tick), "middle")),
    xAxisName(frame.width / 2, frame.height + 36, name),
  ];
}
