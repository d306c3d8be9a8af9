// Fits a slowdown table to measured points. PCCS divides an accelerator's own demand into regions (minor, normal,
// intensive contention), and draws a piecewise linear curve over the others' demand in each. Here the curves are at
// knots of own demand and joined linearly. They are fitted by least squares under three constraints: the slowdown is 1
// without others, never below 1, and never falls in either demand.
import { badPoints } from "./errors.ts";
import { between, interpolated, type SlowdownTable } from "./slowdown.ts";

export interface SlowdownPoint {
  readonly own: number;
  readonly others: number;
  /** Time with neighbours, divided by time alone. */
  readonly slowdown: number;
}

export interface SlowdownFit {
  readonly table: SlowdownTable;
  /** Mean of |fitted - measured| / measured over the points. */
  readonly meanError: number;
  readonly largestError: number;
}

const OWN_KNOTS = 4;
const OTHERS_KNOTS = 5;
const ROUNDS = 3_000;

/** `place`: the owner of the points, for an error about bad ones. */
export function fitSlowdown(points: readonly SlowdownPoint[], place: string): SlowdownFit {
  if (points.length < 3) throw badPoints(place, "a slowdown takes three measured points at least.");
  for (const { own, others, slowdown } of points)
    if (![own, others, slowdown].every(Number.isFinite) || own < 0 || others < 0 || slowdown <= 0)
      throw badPoints(
        place,
        `${own}, ${others}, ${slowdown} is no own demand, others' demand, slowdown.`,
      );
  const own = knots(
    points.map((one) => one.own),
    OWN_KNOTS,
  );
  const others = [
    0,
    ...knots(
      points.map((one) => one.others),
      OTHERS_KNOTS - 1,
    ).filter((x) => x > 0),
  ];
  const factor = own.map(() => others.map(() => 1));
  for (let round = 0; round < ROUNDS; round++) {
    descend(points, { own, others, factor });
    straighten(factor);
  }
  rise(factor);
  const table = { own, others, factor };
  const fitted = interpolated(table);
  const errors = points.map(
    (one) => Math.abs(fitted(one.own, one.others) - one.slowdown) / one.slowdown,
  );
  return {
    table,
    meanError: errors.reduce((sum, one) => sum + one, 0) / errors.length,
    largestError: Math.max(...errors),
  };
}

/** At most `most` of the values: the smallest, the largest, and others evenly by rank. */
function knots(values: readonly number[], most: number): number[] {
  const distinct = [...new Set(values)].sort((a, b) => a - b);
  if (distinct.length <= most) return distinct;
  return Array.from({ length: most }, (_, i) => {
    const rank = Math.round((i * (distinct.length - 1)) / (most - 1));
    return distinct[rank] ?? 0;
  });
}

/** One pass over the points. Each point moves the four knots around it towards itself (Kaczmarz, relaxed). */
function descend(
  points: readonly SlowdownPoint[],
  table: { own: number[]; others: number[]; factor: number[][] },
) {
  const { own, others, factor } = table;
  const fitted = interpolated(table);
  for (const point of points) {
    const o = between(own, point.own);
    const e = between(others, point.others);
    const miss = point.slowdown - fitted(point.own, point.others);
    const near = [
      [o.low, e.low, (1 - o.part) * (1 - e.part)],
      [o.low, e.low + 1, (1 - o.part) * e.part],
      [o.low + 1, e.low, o.part * (1 - e.part)],
      [o.low + 1, e.low + 1, o.part * e.part],
    ] as const;
    const norm = near.reduce((sum, [, , weight]) => sum + weight * weight, 0);
    for (const [i, j, weight] of near) {
      const row = factor[i];
      if (row && j > 0 && j < row.length)
        row[j] = (row[j] ?? 1) + (RELAXATION * miss * weight) / norm;
    }
  }
}

/** Small, so that points that contradict each other are averaged. */
const RELAXATION = 0.05;

/** Replaces rows, then columns, by the nearest that never fall; no value is below 1. */
function straighten(factor: number[][]) {
  for (const row of factor) row.splice(0, row.length, ...isotonic(row));
  for (const j of (factor[0] ?? []).keys())
    for (const [i, value] of isotonic(factor.map((row) => row[j] ?? 1)).entries()) {
      const row = factor[i];
      if (row) row[j] = j === 0 ? 1 : Math.max(1, value);
    }
}

/** Corrects what rounding and the pass over columns left falling. */
function rise(factor: number[][]) {
  for (const [i, row] of factor.entries())
    for (const j of row.keys())
      row[j] = Math.max(row[j] ?? 1, row[j - 1] ?? 1, factor[i - 1]?.[j] ?? 1);
}

/** The nearest list, in least squares, that never falls (pool adjacent violators). */
function isotonic(values: readonly number[]): number[] {
  const blocks: { sum: number; count: number }[] = [];
  for (const value of values) {
    let block = { sum: value, count: 1 };
    for (;;) {
      const before = blocks.at(-1);
      if (!before || before.sum / before.count <= block.sum / block.count) break;
      blocks.pop();
      block = { sum: before.sum + block.sum, count: before.count + block.count };
    }
    blocks.push(block);
  }
  return blocks.flatMap(({ sum, count }) => Array<number>(count).fill(sum / count));
}
