// A timeline as SVG: a row for each accelerator, a box for each group, coloured by network. A band at a box's foot
// shows how much its neighbours' memory traffic slows it there: the darker, the more, and its height is the part of the
// time that is lost. A slanted line is a transition: it leaves the accelerator of an input when the group before has ended,
// and arrives when the input is there. If the group then waits for its accelerator, a line under the row leads to its box.

import { type Markup, pageColours, words } from "#core";
import {
  fitText,
  flow,
  GREY,
  roundTicks,
  svgElement,
  svgHeading,
  svgPicture,
  svgText,
  textWidth,
  xAxisName,
} from "#drawing";
import type { Problem, Span, Timeline } from "./problem/types.ts";
import { makespanMs } from "./search/timeline.ts";

const WIDTH = 1000;
const MARGIN = 20;
const HEAD = 60;
const LINE = 20;
const BOX = 54;
/** Told apart by people with any colour vision (Okabe and Ito). Pale, so that black text can be read on them. */
const COLOURS = ["#4fa3d1", "#f0b740", "#4fc0a0", "#dba0c0", "#8fd0f2", "#e58a4d", "#f4ec7a"];
const ON_BOX = "#101010";
const CONTENTION = "#8b0000";

/** Where things are. */
interface Layout {
  readonly left: number;
  readonly top: number;
  /** Height of a row: its box and a line for each network that waits. */
  readonly row: number;
  readonly end: number;
  x(ms: number): number;
}

export function picture(problem: Problem, found: Timeline, title: string): string {
  const names = problem.accelerators.map(({ name }) => fitText(name, 12, 180));
  const entries = legend(problem);
  const left = 2 * MARGIN + Math.max(40, ...names.map((name) => textWidth(name, 12)));
  const end = makespanMs(found);
  const layout: Layout = {
    left,
    top: HEAD + entries.height,
    row: BOX + 22 + 4 * problem.networks.length,
    end,
    x: (ms) => left + (ms / end) * (WIDTH - left - 2 * MARGIN),
  };
  const bottom = layout.top + layout.row * names.length;
  return svgPicture(
    { width: WIDTH, height: bottom + 62, title, description: describe(problem, found) },
    ...svgHeading(MARGIN, WIDTH - 2 * MARGIN, title),
    ...entries.svg,
    ...names.flatMap((name, a) => [
      svgText(MARGIN, layout.top + a * layout.row + BOX / 2 + 4, name),
      svgElement("rect", {
        x: left,
        y: layout.top + a * layout.row,
        width: layout.x(end) - left,
        height: BOX,
        fill: pageColours.raised.light,
      }),
    ]),
    ...found.spans.map((span) => box(problem, span, layout)),
    ...transitions(problem, found, layout),
    ...axis(layout, bottom),
  );
}

function describe({ networks }: Problem, { spans }: Timeline): string {
  const ends = networks.map(({ name }, n) => {
    const own = spans.filter(({ network }) => network === n);
    const last = own.reduce((a, { endMs }) => Math.max(a, endMs), 0);
    const waited = own.reduce((sum, { startMs, readyMs }) => sum + startMs - readyMs, 0);
    const lost = own.reduce((sum, span) => sum + lostMs(span), 0);
    return `${name} ends at ${ms(last)} ms, of which contention ${ms(lost)} ms and waiting ${ms(waited)} ms`;
  });
  return `${ends.join("; ")}.`;
}

function legend({ networks }: Problem): { readonly svg: Markup[]; readonly height: number } {
  const entries = [
    ...networks.map(({ name }, n) => ({ colour: colour(n), name, sign: filled })),
    { colour: CONTENTION, name: "time lost to contention", sign: filled },
    { colour: GREY, name: "moves to another accelerator", sign: slanted },
    { colour: GREY, name: "waits for the accelerator", sign: level },
  ];
  const labels = entries.map(({ name }) => fitText(name, 12, WIDTH / 2));
  const { at, y } = flow(
    { left: MARGIN, right: WIDTH - MARGIN, y: 42, line: LINE, gap: 16 },
    labels.map((label) => 17 + textWidth(label, 12)),
  );
  const svg = entries.flatMap(({ sign, colour: own }, i) => {
    const { x, y: line } = at[i] ?? { x: MARGIN, y: 42 };
    return [sign(x, line, own), svgText(x + 17, line + 10, labels[i] ?? "")];
  });
  return { svg, height: y + LINE + 6 - HEAD };
}

const filled = (x: number, y: number, fill: string): Markup =>
  svgElement("rect", { x, y, width: 12, height: 12, fill, stroke: GREY });
const slanted = (x: number, y: number, stroke: string): Markup =>
  svgElement("line", { x1: x, y1: y + 1, x2: x + 12, y2: y + 11, stroke, "stroke-width": 1.5 });
const level = (x: number, y: number, stroke: string): Markup =>
  svgElement("line", { x1: x, y1: y + 6, x2: x + 12, y2: y + 6, stroke, "stroke-width": 3 });

/** A line for each input that comes from another accelerator. */
function transitions(problem: Problem, { spans }: Timeline, { x, top, row }: Layout): Markup[] {
  const spanOf = (network: number, group: number) =>
    spans.find((one) => one.network === network && one.group === group);
  return spans.flatMap((span) => {
    const network = problem.networks[span.network];
    const group = network?.groups[span.group];
    const begins = spanOf(span.network, span.group - 1)?.endMs ?? 0;
    const foreign = (group?.inputs ?? []).flatMap((input) => {
      const from = spanOf(span.network, input);
      return from && from.accelerator !== span.accelerator ? [from.accelerator] : [];
    });
    return [...new Set(foreign)].map((from) => {
      const down = from < span.accelerator;
      const tip = `${network?.name} ${group?.name}: ${ms(span.readyMs - begins)} ms to move from ${problem.accelerators[from]?.name} to ${problem.accelerators[span.accelerator]?.name}`;
      return svgElement(
        "g",
        {},
        svgElement("title", {}, words(tip)),
        svgElement("line", {
          x1: x(begins),
          y1: top + from * row + (down ? BOX : 0),
          x2: x(span.readyMs),
          y2: top + span.accelerator * row + (down ? 0 : BOX),
          stroke: GREY,
          "stroke-width": 1.5,
        }),
      );
    });
  });
}

const lostMs = ({ pieces }: Span): number =>
  pieces.reduce((sum, { fromMs, toMs, slowdown }) => sum + (toMs - fromMs) * (1 - 1 / slowdown), 0);

function box(problem: Problem, span: Span, { x, top, row }: Layout): Markup {
  const y = top + span.accelerator * row;
  const network = problem.networks[span.network];
  const name = network?.groups[span.group]?.name ?? "";
  const left = x(span.startMs);
  const width = x(span.endMs) - left;
  const lost = lostMs(span);
  const alone = span.endMs - span.startMs - lost;
  const tip = `${network?.name} ${name}: ${ms(span.startMs)} to ${ms(span.endMs)} ms, alone ${ms(alone)} ms, contention ${ms(lost)} ms, waited ${ms(span.startMs - span.readyMs)} ms`;
  const fill = colour(span.network);
  const under = y + BOX + 6 + 4 * span.network;
  return svgElement(
    "g",
    {},
    svgElement("title", {}, words(tip)),
    svgElement("rect", { x: left, y, width, height: BOX, fill, stroke: pageColours.ground.light }),
    ...span.pieces
      .filter(({ slowdown }) => slowdown > 1)
      .map(({ fromMs, toMs, slowdown }) => {
        const height = BOX * (1 - 1 / slowdown);
        return svgElement("rect", {
          x: x(fromMs),
          y: y + BOX - height,
          width: x(toMs) - x(fromMs),
          height,
          fill: CONTENTION,
          "fill-opacity": Math.min(0.9, 0.35 + (slowdown - 1)),
        });
      }),
    ...label(name, left + width / 2, y, width),
    ...(span.startMs - span.readyMs > 1e-6
      ? [
          svgElement("line", {
            x1: x(span.readyMs),
            x2: left,
            y1: under,
            y2: under,
            stroke: fill,
            "stroke-width": 3,
          }),
        ]
      : []),
  );
}

/** Upright in a box that is too narrow, in small letters if that needs them; none where no letter fits. */
function label(name: string, middle: number, y: number, width: number): Markup[] {
  const centred = { "text-anchor": "middle", fill: ON_BOX };
  if (width > textWidth(name, 12) + 4) return [svgText(middle, y + 18, name, centred)];
  const sizes = [11, 8].filter((size) => width >= size + 1);
  const size = sizes.find((one) => textWidth(name, one) <= BOX - 4) ?? sizes.at(-1);
  if (size === undefined) return [];
  const text = fitText(name, size, BOX - 4);
  const centre = y + BOX / 2;
  return [
    svgText(middle, centre, text, {
      ...centred,
      "font-size": size,
      dy: "0.35em",
      transform: `rotate(-90 ${middle} ${centre})`,
    }),
  ];
}

function axis({ end, left, x }: Layout, bottom: number): Markup[] {
  const line = (x1: number, x2: number, y2: number) =>
    svgElement("line", { x1, x2, y1: bottom, y2, stroke: GREY });
  const middle = { "text-anchor": "middle", fill: GREY };
  return [
    line(left, x(end), bottom),
    ...roundTicks(0, end, 8).flatMap((tick) => [
      line(x(tick), x(tick), bottom + 5),
      svgText(x(tick), bottom + 19, String(Number(tick.toPrecision(6))), middle),
    ]),
    xAxisName((left + x(end)) / 2, bottom + 42, "ms"),
  ];
}

const colour = (network: number): string => COLOURS[network % COLOURS.length] ?? "#888888";
const ms = (value: number) => value.toFixed(3);
