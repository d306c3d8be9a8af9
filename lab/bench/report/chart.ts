// Results as one SVG: a panel for each pair, a point for each arrangement. Further right the best-effort job retains
// more; further down the high job is slowed less.

import { type Markup, short } from "#core";
import { BETTER, fitText, GREY, svgElement, svgPicture, svgText, textWidth } from "#drawing";
import { percent, times } from "#measure";
import type { BenchResult } from "../scenario/result.ts";
import { betterArrow, betterCorner } from "./better.ts";
import { drawMark, families, isOurs, type Mark, marksFor } from "./marks.ts";
import { type Axes, drawPanel, type Panel, xAxis, yAxis } from "./panel.ts";
import type { Box } from "./places.ts";
import { arrangementsOf, type Merged, merge, type Pair, type Row } from "./rows.ts";
import { ratioScale, shareScale } from "./scale.ts";
import { pairText, runsText } from "./words.ts";

type ChartFigure = "p99" | "p50";

const figures: Readonly<
  Record<ChartFigure, { axis: string; about: string; of: (row: Row) => Merged | undefined }>
> = {
  p99: { axis: "p99 slowdown", about: "arrival to done", of: (row) => row.latency.p99 },
  p50: { axis: "p50 slowdown", about: "begin of submission to done", of: (row) => row.burst.p50 },
};

/** How a chart calls the jobs and the arrangements. */
export interface Wording {
  readonly title: string;
  readonly high: string;
  readonly throughput: string;
  /** Names of jobs and arrangements in results → in the chart. Others are as in the results. */
  readonly names: ReadonlyMap<string, string>;
}

const asMeasured: Wording = {
  title: "What the high job pays, and what the best-effort job retains",
  high: "high job",
  throughput: "best-effort throughput retained",
  names: new Map(),
};

const MARGIN = 20;
const LEFT = 66; // ticks and name of the y axis
const HEAD = 58; // title and subtitle
const LINE = 22; // of the legend
const GAP_X = 22;
const GAP_Y = 20;
const TITLE = 38; // of a panel
const FOOT = 46; // ticks and name of the x axis
const PANEL_HEIGHT = 190;

/** "p99" is from arrival to done, "p50" from start of submission to done, both as ratios to solo. */
export function chart(
  results: readonly BenchResult[],
  { figure = "p99", wording = asMeasured }: { figure?: ChartFigure; wording?: Wording } = {},
): string {
  const say = (name: string) => wording.names.get(name) ?? name;
  const pairs = merge(results).map((pair) => ({
    ...pair,
    high: say(pair.high),
    bestEffort: pair.bestEffort.map(say),
  }));
  const shown = arrangementsOf(pairs).filter((name) => !/^(solo|alone)(@|$)/.test(name));
  const marks = marksFor(shown);
  const panels = pairs.map((pair) => panelOf(pair, marks, figure, say));
  const grid = gridFor(panels.length);
  const width = MARGIN + LEFT + grid.columns * (grid.panelWidth + GAP_X) - GAP_X + MARGIN;
  const legend = drawLegend(marks, width, say);
  const top = HEAD + legend.height + 8;
  const step = TITLE + PANEL_HEIGHT + GAP_Y;
  const height = top + Math.max(1, grid.rows) * step - GAP_Y + FOOT + 8;
  const frame: Box = { x: 0, y: 0, width: grid.panelWidth, height: PANEL_HEIGHT };
  const axes = axesFor(panels, frame);
  return svgPicture(
    {
      width,
      height,
      title: `${figures[figure].axis} against retained throughput`,
      description: describe(panels),
    },
    svgElement("defs", {}, betterCorner()),
    ...heading(pairs, figure, width, wording),
    legend.svg,
    ...panels.map((panel, i) => {
      const column = i % grid.columns;
      const left = MARGIN + LEFT + column * (grid.panelWidth + GAP_X);
      const down = top + Math.floor(i / grid.columns) * step + TITLE;
      return svgElement(
        "g",
        { class: "panel", transform: `translate(${left} ${down})` },
        ...drawPanel(panel, axes),
        ...(column === 0 ? yAxis(axes, figures[figure].axis) : []),
        ...(i + grid.columns >= panels.length ? xAxis(axes, wording.throughput) : []),
      );
    }),
  );
}

/** At most three panels in a row; four make a square. */
function gridFor(count: number): { columns: number; rows: number; panelWidth: number } {
  const columns = count === 4 ? 2 : Math.min(Math.max(count, 1), 3);
  const panelWidth = [560, 380, 256][columns - 1] ?? 256;
  return { columns, rows: Math.ceil(count / columns), panelWidth };
}

/** All panels have the same axes, so that they can be compared. */
function axesFor(panels: readonly Panel[], frame: Box): Axes {
  const points = panels.flatMap((panel) => panel.points);
  const kept = points.map((point) => point.kept);
  const slowdowns = points.flatMap(({ slowdown: { low, value, high } }) => [low, value, high]);
  return {
    frame,
    x: shareScale(kept, 10, frame.width - 14),
    y: ratioScale(
      slowdowns.filter((slowdown) => slowdown > 0),
      frame.height - 13,
      10,
      19,
    ),
  };
}

function panelOf(
  pair: Pair,
  marks: ReadonlyMap<string, Mark>,
  figure: ChartFigure,
  say: (arrangement: string) => string,
): Panel {
  const points = pair.rows.flatMap((row) => {
    const mark = marks.get(row.arrangement);
    const slowdown = figures[figure].of(row);
    if (!mark || !slowdown || slowdown.value <= 0 || !row.kept) return [];
    const ours = isOurs(row.arrangement);
    const { arrangement } = row;
    return { row, label: say(arrangement), mark, slowdown, kept: row.kept.value, ours };
  });
  // Cotenant's points are drawn last, above the others.
  points.sort((a, b) => Number(a.ours) - Number(b.ours));
  const failed = pair.rows
    .filter(({ runs }) => runs === 0)
    .map((row) => ({ row, label: say(row.arrangement) }));
  return { pair, points, failed };
}

/** A description for readers who cannot see the picture. */
function describe(panels: readonly Panel[]): string {
  if (panels.length === 0) return "No results.";
  return panels
    .map(({ pair, points, failed }) => {
      const shown = points.map(
        ({ label, slowdown, kept }) =>
          `${label} ${times(slowdown.value)} at ${percent(kept)} retained`,
      );
      const lost = failed.map(({ row, label }) => `${label} ${runsText(row)}`);
      return `${pairText(pair)}: ${[...shown, ...lost].join("; ") || "nothing to show"}.`;
    })
    .join(" ");
}

function heading(
  pairs: readonly Pair[],
  figure: ChartFigure,
  width: number,
  { title, high }: Wording,
): readonly Markup[] {
  const gpus = [...new Set(pairs.map(({ gpu }) => gpu))].join(", ");
  const room = width - 2 * MARGIN;
  const { about } = figures[figure];
  return [
    svgText(MARGIN, 31, title, {
      "font-size": 17,
      "font-weight": 600,
    }),
    svgText(width - MARGIN - 18, 30, "better", {
      "text-anchor": "end",
      fill: BETTER,
      "font-weight": 600,
    }),
    betterArrow(width - MARGIN - 3, 30),
    svgText(
      MARGIN,
      50,
      fitText(
        [
          gpus || "no results",
          `${figure} of the ${high}, ${about}; 1x is solo`,
          "lines are 95 % intervals",
        ].join(" · "),
        12,
        room,
      ),
      { fill: GREY },
    ),
  ];
}

function drawLegend(
  marks: ReadonlyMap<string, Mark>,
  width: number,
  say: (arrangement: string) => string,
): { readonly svg: Markup; readonly height: number } {
  let x = MARGIN;
  let y = HEAD + LINE / 2;
  const entries: Markup[] = [];
  for (const { name, has } of families) {
    const members = [...marks].filter(([arrangement]) => has.test(arrangement));
    members.forEach(([arrangement, mark], i) => {
      const label = fitText(say(arrangement), 12, width / 2);
      const lead = i === 0 ? textWidth(name, 12) + 10 : 0;
      const needed = lead + 15 + textWidth(label, 12);
      if (x > MARGIN && x + needed > width - MARGIN) {
        x = MARGIN;
        y += LINE;
      }
      if (i === 0) entries.push(svgText(x, y + 4, name, { fill: GREY }));
      entries.push(
        svgElement("g", { transform: `translate(${short(x + lead + 5)} ${y})` }, drawMark(mark)),
        svgText(x + lead + 15, y + 4, label),
      );
      x += needed + 14;
    });
    if (members.length > 0) x += 14;
  }
  return { svg: svgElement("g", { class: "legend" }, ...entries), height: y + LINE / 2 - HEAD };
}
