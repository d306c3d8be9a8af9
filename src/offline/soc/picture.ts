// A timeline as SVG: a row per accelerator, a box per group, coloured by network. The darker the band at a box's
// foot, the more its neighbours' memory traffic slows it there; its height says how much of the time is lost. A
// thin line before a box leads from where its inputs were ready: it waited for the accelerator.

import { escapeMarkup } from "#core";
import type { Problem, Span, Timeline } from "./problem/types.ts";
import { makespanMs } from "./timeline.ts";

const WIDTH = 1000;
const LEFT = 90;
const TOP = 64;
const ROW = 84;
const BOX = 54;
/** Told apart by people with any colour vision (Okabe and Ito). */
const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"];
const CONTENTION = "#8B0000";

export function picture(problem: Problem, found: Timeline, title: string): string {
  const end = makespanMs(found);
  const scale = (WIDTH - LEFT - 20) / end;
  const x = (ms: number) => round(LEFT + ms * scale);
  const bottom = TOP + ROW * problem.accelerators.length;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 66}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${bottom + 66}" fill="#fff"/>`,
    `<text x="12" y="22" font-size="15" font-weight="bold">${escapeMarkup(title)}</text>`,
    ...legend(problem),
    ...problem.accelerators.flatMap(({ name }, a) => [
      `<text x="12" y="${TOP + a * ROW + BOX / 2 + 4}">${escapeMarkup(name)}</text>`,
      `<rect x="${LEFT}" y="${TOP + a * ROW}" width="${round(end * scale)}" height="${BOX}" fill="#f3f3f3"/>`,
    ]),
    ...found.spans.flatMap((span) => box(problem, span, x)),
    ...axis(end, x, bottom),
    "</svg>\n",
  ].join("\n");
}

function legend({ networks }: Problem): string[] {
  let at = 12;
  const entry = (colour: string, label: string) => {
    const here = at;
    at += 26 + 7 * label.length;
    return `<rect x="${here}" y="34" width="12" height="12" fill="${colour}"/><text x="${here + 17}" y="44">${escapeMarkup(label)}</text>`;
  };
  return [
    ...networks.map(({ name }, n) => entry(colour(n), name)),
    entry(CONTENTION, "time lost to contention"),
  ];
}

function box(problem: Problem, span: Span, x: (ms: number) => number): string[] {
  const y = TOP + span.accelerator * ROW;
  const network = problem.networks[span.network];
  const name = network?.groups[span.group]?.name ?? "";
  const width = round(x(span.endMs) - x(span.startMs));
  const lost = span.pieces.reduce((sum, p) => sum + (p.toMs - p.fromMs) * (1 - 1 / p.slowdown), 0);
  const alone = span.endMs - span.startMs - lost;
  const tip = `${network?.name} ${name}: ${ms(span.startMs)} to ${ms(span.endMs)} ms, alone ${ms(alone)} ms, contention ${ms(lost)} ms, waited ${ms(span.startMs - span.readyMs)} ms`;
  const fits = width > 7 * name.length + 4;
  return [
    `<g><title>${escapeMarkup(tip)}</title>`,
    `<rect x="${x(span.startMs)}" y="${y}" width="${width}" height="${BOX}" fill="${colour(span.network)}" fill-opacity="0.75" stroke="#fff"/>`,
    ...span.pieces
      .filter(({ slowdown }) => slowdown > 1)
      .map(({ fromMs, toMs, slowdown }) => {
        const height = round(BOX * (1 - 1 / slowdown));
        return `<rect x="${x(fromMs)}" y="${round(y + BOX - height)}" width="${round(x(toMs) - x(fromMs))}" height="${height}" fill="${CONTENTION}" fill-opacity="${round(Math.min(0.9, 0.35 + (slowdown - 1)))}"/>`;
      }),
    ...(fits
      ? [
          `<text x="${round((x(span.startMs) + x(span.endMs)) / 2)}" y="${y + 18}" text-anchor="middle">${escapeMarkup(name)}</text>`,
        ]
      : []),
    ...(span.startMs - span.readyMs > 1e-6
      ? [
          `<line x1="${x(span.readyMs)}" x2="${x(span.startMs)}" y1="${y + BOX + 6 + 4 * span.network}" y2="${y + BOX + 6 + 4 * span.network}" stroke="${colour(span.network)}" stroke-width="2"/>`,
        ]
      : []),
    "</g>",
  ];
}

function axis(end: number, x: (ms: number) => number, bottom: number): string[] {
  const rough = end / 8;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  const ticks = Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, i) => i * step);
  return [
    `<line x1="${LEFT}" x2="${x(end)}" y1="${bottom}" y2="${bottom}" stroke="#444"/>`,
    ...ticks.map(
      (tick) =>
        `<line x1="${x(tick)}" x2="${x(tick)}" y1="${bottom}" y2="${bottom + 5}" stroke="#444"/><text x="${x(tick)}" y="${bottom + 19}" text-anchor="middle">${Number(tick.toPrecision(6))}</text>`,
    ),
    `<text x="${round((LEFT + x(end)) / 2)}" y="${bottom + 40}" text-anchor="middle">ms; a line under a box: waited for the accelerator</text>`,
  ];
}

const colour = (network: number): string => COLOURS[network % COLOURS.length] ?? "#888";
const round = (value: number) => Number(value.toFixed(2));
const ms = (value: number) => value.toFixed(3);
