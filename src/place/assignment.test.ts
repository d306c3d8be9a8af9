import fc from "fast-check";
import { expect, test } from "vitest";
import { minimalStandard } from "#core";
import { assign, totalWeight, type WeightMatrix } from "./assignment.ts";
import { assignGreedily } from "./greedy.ts";
import { assignKinds } from "./kinds.ts";
import { UNMATCHED } from "./paths.ts";

const matrix = (rows: number, columns: number, weights: readonly number[]): WeightMatrix => ({
  rows,
  columns,
  weights: Float64Array.from(weights),
});

/** The weight of the best matching, found by trying every one. */
function best({ rows, columns, weights }: WeightMatrix, row = 0, taken = 0): number {
  if (row === rows) return 0;
  let most = best({ rows, columns, weights }, row + 1, taken);
  for (let column = 0; column < columns; column++) {
    const weight = weights[row * columns + column] ?? 0;
    if (weight > 0 && (taken & (1 << column)) === 0)
      most = Math.max(
        most,
        weight + best({ rows, columns, weights }, row + 1, taken | (1 << column)),
      );
  }
  return most;
}

/** Ties, forbidden pairs and negative weights are as likely as ordinary ones. */
const weight = fc.oneof(
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.integer({ min: 0, max: 3 }),
  fc.constantFrom(Number.NaN, Number.NEGATIVE_INFINITY, -1, 0),
);
const matrices = fc
  .tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 6 }))
  .chain(([rows, columns]) =>
    fc
      .array(weight, { minLength: rows * columns, maxLength: rows * columns })
      .map((weights) => matrix(rows, columns, weights)),
  );

test("MuxFlow's Figure 9: A with D and B with C", () => {
  const figure = matrix(2, 3, [0.3, 0.8, 0.4, 0.8, 0.4, 0.3]);
  expect([...assign(figure)]).toEqual([1, 0]);
});

test("a matching is as heavy as the heaviest of all matchings", () => {
  fc.assert(
    fc.property(matrices, (one) => {
      expect(totalWeight(one, assign(one))).toBeCloseTo(best(one), 9);
    }),
    { numRuns: 1500 },
  );
});

test("it is never lighter than the greedy one, and uses each row and column once and no forbidden pair", () => {
  const sizes = fc.record({
    rows: fc.integer({ min: 1, max: 40 }),
    columns: fc.integer({ min: 1, max: 40 }),
    levels: fc.integer({ min: 1, max: 1000 }),
    seed: fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1600, maxLength: 1600 }),
  });
  fc.assert(
    fc.property(sizes, ({ rows, columns, levels, seed }) => {
      const weights = seed.slice(0, rows * columns).map((n) => (n % (levels + 1)) - levels / 4);
      const one = matrix(rows, columns, weights);
      const partners = assign(one);
      const matched = [...partners].filter((column) => column !== UNMATCHED);
      expect(new Set(matched).size).toBe(matched.length);
      for (const [row, column] of partners.entries())
        if (column !== UNMATCHED) expect(weights[row * columns + column]).toBeGreaterThan(0);
      expect(totalWeight(one, partners)).toBeGreaterThanOrEqual(
        totalWeight(one, assignGreedily(one)) - 1e-9,
      );
    }),
    { numRuns: 200 },
  );
});

test("a matching of kinds weighs as much as one of their members", () => {
  const counts = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(
      counts,
      counts,
      fc.array(weight, { minLength: 16, maxLength: 16 }),
      (rows, columns, all) => {
        const weights = Float64Array.from(all.slice(0, rows.length * columns.length));
        const flow = assignKinds({ rows, columns, weights });
        const row = rows.flatMap((count, kind) => Array<number>(count).fill(kind));
        const column = columns.flatMap((count, kind) => Array<number>(count).fill(kind));
        const dense = matrix(
          row.length,
          column.length,
          row.flatMap((i) => column.map((j) => weights[i * columns.length + j] ?? 0)),
        );
        let sum = 0;
        rows.forEach((count, i) => {
          const out = columns.map((_, j) => flow[i * columns.length + j] ?? 0);
          expect(out.reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(count);
          out.forEach((moved, j) => {
            expect(moved).toBeGreaterThanOrEqual(0);
            if (moved > 0) sum += moved * (weights[i * columns.length + j] ?? 0);
          });
        });
        columns.forEach((count, j) => {
          const into = rows.map((_, i) => flow[i * columns.length + j] ?? 0);
          expect(into.reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(count);
        });
        expect(sum).toBeCloseTo(totalWeight(dense, assign(dense)), 9);
      },
    ),
    { numRuns: 500 },
  );
});

test("many equal rows and columns, all ties, are matched in full", () => {
  const n = 150;
  const weights = Array.from(
    { length: n * n },
    (_, edge) => 1 + (Math.floor(edge / n) % 3) * ((edge % n) % 2),
  );
  const one = matrix(n, n, weights);
  // Two thirds of the rows gain 1 or 2 from an odd column: 50 rows gain 2, then 25 gain 1.
  expect(totalWeight(one, assign(one))).toBeCloseTo(n + 50 * 2 + 25, 9);
});

test("products of a row's and a column's number match large rows with large columns", () => {
  const numbers = fc.array(fc.double({ min: 0.01, max: 1, noNaN: true }), {
    minLength: 1,
    maxLength: 90,
  });
  const falling = (all: readonly number[]) => [...all].sort((a, b) => b - a);
  fc.assert(
    fc.property(numbers, numbers, (row, column) => {
      const weights = row.flatMap((a) => column.map((b) => a * b));
      const one = matrix(row.length, column.length, weights);
      const most = falling(column);
      const expected = falling(row).reduce((sum, a, i) => sum + a * (most[i] ?? 0), 0);
      expect(totalWeight(one, assign(one))).toBeCloseTo(expected, 9);
    }),
    { numRuns: 300 },
  );
});

test("weights that are sums of a row's and a column's number: every full matching is the best", () => {
  const numbers = fc.array(fc.double({ min: 0.01, max: 1, noNaN: true }), {
    minLength: 1,
    maxLength: 90,
  });
  const largest = (all: readonly number[], count: number) =>
    [...all].sort((a, b) => b - a).slice(0, count);
  fc.assert(
    fc.property(numbers, numbers, (row, column) => {
      const one = matrix(
        row.length,
        column.length,
        row.flatMap((a) => column.map((b) => a + b)),
      );
      const pairs = Math.min(row.length, column.length);
      const expected = [...largest(row, pairs), ...largest(column, pairs)];
      expect(totalWeight(one, assign(one))).toBeCloseTo(
        expected.reduce((sum, a) => sum + a, 0),
        9,
      );
    }),
    { numRuns: 300 },
  );
});

test("ties cost little: sums take about as long as random weights", () => {
  const n = 1000;
  const random = minimalStandard(7);
  const [row, column] = [n, n].map((length) => Array.from({ length }, random));
  const cpuUs = (weights: readonly number[]) => {
    const one = matrix(n, n, weights);
    const times = [1, 2, 3].map(() => {
      const before = process.cpuUsage();
      assign(one);
      return process.cpuUsage(before).user;
    });
    return Math.min(...times);
  };
  const sums = row?.flatMap((a) => column?.map((b) => a + b) ?? []) ?? [];
  expect(cpuUs(sums)).toBeLessThan(5 * cpuUs(sums.map(random)));
});

test("one far larger weight does not make the matching of the others worse", () => {
  const HUGE = 2 ** 45;
  const sizes = fc.integer({ min: 1, max: 5 });
  const blocks = sizes.chain((n) =>
    fc.tuple(
      fc.constant(n),
      fc.array(fc.integer({ min: 0, max: 20 }), { minLength: n * n, maxLength: n * n }),
    ),
  );
  fc.assert(
    fc.property(blocks, ([n, all]) => {
      const inside = (row: number, column: number) => all[(row - 1) * n + column - 1] ?? 0;
      const weights = Array.from({ length: (n + 1) ** 2 }, (_, edge) => {
        const [row, column] = [Math.floor(edge / (n + 1)), edge % (n + 1)];
        if (row === 0 || column === 0) return row === column ? HUGE : 0;
        return inside(row, column);
      });
      const one = matrix(n + 1, n + 1, weights);
      expect(totalWeight(one, assign(one)) - HUGE).toBe(best(matrix(n, n, all)));
    }),
    { numRuns: 500 },
  );
});

test("a matching of members weighs as much as one of their kinds", () => {
  const kinds = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 60 });
  const count = (members: readonly number[]) =>
    [0, 1, 2, 3, 4].map((kind) => members.filter((one) => one === kind).length);
  fc.assert(
    fc.property(
      kinds,
      kinds,
      fc.array(weight, { minLength: 25, maxLength: 25 }),
      (row, column, all) => {
        const dense = matrix(
          row.length,
          column.length,
          row.flatMap((i) => column.map((j) => all[i * 5 + j] ?? 0)),
        );
        const flow = assignKinds({
          rows: count(row),
          columns: count(column),
          weights: Float64Array.from(all),
        });
        const sum = flow.reduce((most, n, edge) => most + (n > 0 ? n * (all[edge] ?? 0) : 0), 0);
        expect(totalWeight(dense, assign(dense))).toBeCloseTo(sum, 8);
      },
    ),
    { numRuns: 300 },
  );
});

test.each([
  ["none is above 0", [0, -1, Number.NaN, 0], [UNMATCHED, UNMATCHED]],
  ["tiny", [1e-300, 2e-300, 3e-300, 1e-300], [1, 0]],
  ["huge", [1e300, 2e300, 3e300, 1e300], [1, 0]],
])("weights of any size: %s", (_, weights, partners) => {
  expect([...assign(matrix(2, 2, weights))]).toEqual(partners);
});

test.each([
  [
    "a matrix of another size",
    () => assign(matrix(2, 2, [1, 2, 3])),
    /3 weights for 2 rows of 2 columns/,
  ],
  [
    "kinds of another number",
    () => assignKinds({ rows: [1], columns: [1, 1], weights: new Float64Array(1) }),
    /1 weights for 1 kinds of rows and 2 of columns/,
  ],
])("%s is refused", (_, run, message) => {
  expect(run).toThrow(message);
});
