// How an arrangement looks in a chart: a shape and a colour, each of which identifies it. The colours are those of
// Okabe and Ito, which can be distinguished with any colour vision.

import type { Markup } from "#core";
import { GROUND, svgElement } from "#drawing";

export interface Mark {
  readonly colour: string;
  readonly shape: Shape;
  /** Drawn as an outline: bounds, and variants of an arrangement with a filled mark. */
  readonly hollow: boolean;
}

const black = "#000000";
const orange = "#e69f00";
const sky = "#56b4e9";
const green = "#009e73";
const blue = "#0072b2";
const vermillion = "#d55e00";
const purple = "#cc79a7";

type Shape = "circle" | "square" | "diamond" | "up" | "down" | "cross" | "star" | "pentagon";

const mark = (colour: string, shape: Shape, hollow = false): Mark => ({ colour, shape, hollow });

const usual: ReadonlyMap<string, Mark> = new Map(
  Object.entries({
    "strict-isolated": mark(blue, "circle"),
    "strict-mps": mark(green, "diamond"),
    "off-isolated": mark(sky, "pentagon"),
    "off-mps": mark(sky, "pentagon", true),
    "time-slicing": mark(vermillion, "down"),
    mps: mark(orange, "square"),
    "mps-30": mark(orange, "square", true),
    "mps-priority": mark(purple, "up"),
    streams: mark(black, "cross"),
    floor: mark(black, "circle", true),
    "floor-mps": mark(black, "diamond", true),
  }),
);

/** For all other arrangements, in order. After the last one the first is used again. */
const others: readonly Mark[] = [
  mark(purple, "star"),
  mark(blue, "up", true),
  mark(green, "square"),
  mark(vermillion, "diamond", true),
  mark(sky, "star"),
  mark(purple, "down", true),
  mark(orange, "pentagon"),
  mark(green, "up"),
  mark(blue, "star", true),
  mark(vermillion, "pentagon"),
];

/** A mark for each arrangement, in the order given. */
export function marksFor(arrangements: readonly string[]): ReadonlyMap<string, Mark> {
  let next = 0;
  return new Map(
    arrangements.map((name) => {
      const own = usual.get(name) ?? others[next++ % others.length] ?? mark(black, "cross");
      return [name, own];
    }),
  );
}

/** The legend separates Cotenant's arrangements from the others. */
const cotenant = { name: "Cotenant", has: /^(?!time-slicing|streams|mps|floor)/ };
export const families = [
  cotenant,
  { name: "without", has: /^(time-slicing|streams|mps)/ },
  { name: "lower bound", has: /^floor/ },
];

export const isOurs = (arrangement: string): boolean => cotenant.has.test(arrangement);

const R = 5;

/** Corners on a circle of `radius`. The first is at `turn`, where 0 is the top. */
const corners = (count: number, radius: number, turn = 0): [number, number][] =>
  Array.from({ length: count }, (_, i) => {
    const angle = 2 * Math.PI * (turn + i / count);
    return [radius * Math.sin(angle), -radius * Math.cos(angle)];
  });

function star(): [number, number][] {
  const inner = corners(5, 0.5 * R, 0.1);
  return corners(5, 1.35 * R).flatMap((corner, i) => [corner, inner[i] ?? corner]);
}

const path = (points: readonly (readonly [number, number])[]): string =>
  `M${points.map((point) => point.map((n) => Number(n.toFixed(2))).join(" ")).join("L")}Z`;

const outlines: Readonly<Record<Exclude<Shape, "cross">, string>> = {
  circle: `M${-R} 0A${R} ${R} 0 1 1 ${R} 0A${R} ${R} 0 1 1 ${-R} 0Z`,
  square: path(corners(4, 1.25 * R, 0.125)),
  diamond: path(corners(4, 1.3 * R)),
  up: path(corners(3, 1.35 * R)),
  down: path(corners(3, 1.35 * R, 0.5)),
  pentagon: path(corners(5, 1.2 * R)),
  star: path(star()),
};

/** Marks have a rim of the ground's colour, so that marks that touch can be distinguished. */
export function drawMark({ colour, shape, hollow }: Mark): Markup {
  if (shape === "cross") {
    const d = "M-4 -4L4 4M-4 4L4 -4";
    return [
      svgElement("path", { d, stroke: GROUND, "stroke-width": 5 }),
      svgElement("path", { d, stroke: colour, "stroke-width": 2.4 }),
    ].join("\n") as Markup;
  }
  const d = outlines[shape];
  if (!hollow) return svgElement("path", { d, fill: colour, stroke: GROUND, "stroke-width": 1 });
  return [
    svgElement("path", { d, fill: GROUND, stroke: GROUND, "stroke-width": 4.4 }),
    svgElement("path", { d, fill: GROUND, stroke: colour, "stroke-width": 2.2 }),
  ].join("\n") as Markup;
}
