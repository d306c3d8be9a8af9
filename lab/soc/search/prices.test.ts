import { expect, test } from "vitest";
import { bruteForce } from "../../../test/soc/brute.ts";
import { exampleProblem } from "../../../test/soc/example.ts";
import { bounds } from "./bounds.ts";
import { flatten } from "./flat.ts";
import { OPTIMALITY_GAP } from "./search.ts";
import { solve } from "./solve.ts";

const shapes = [
  { networks: 2, groups: 5, accelerators: 2 as const, limit: 100 },
  { networks: 3, groups: 4, accelerators: 2 as const, limit: 70 },
  { networks: 3, groups: 4, accelerators: 3 as const, limit: 100 },
  { networks: 4, groups: 3, accelerators: 3 as const, limit: 70 },
];

test.each(shapes)("whatever runs at one moment earns at most 1 per millisecond: %o", (shape) => {
  for (const seed of [1, 2, 3]) {
    const flat = flatten(exampleProblem({ ...shape, maxTransitions: 2, seed }));
    const { accelerators, first, demand, problem } = flat;
    const networkOf = (at: number) =>
      first.findIndex((begin) => Math.floor(at / accelerators) < begin) - 1;
    const fits = (at: number, beside: readonly number[]) =>
      beside.every(
        (other) => at % accelerators !== other % accelerators && networkOf(at) !== networkOf(other),
      );
    const all = [...demand.keys()];
    const concurrent = all.flatMap((g) =>
      all
        .filter((h) => h > g && fits(h, [g]))
        .flatMap((h) => [
          [g, h],
          ...all.filter((k) => k > h && fits(k, [g, h])).map((k) => [g, h, k]),
        ]),
    );
    for (const { prices } of bounds(flat).loads)
      for (const set of concurrent) {
        const total = set.reduce((sum, at) => sum + (demand[at] ?? 0), 0);
        const earned = set.reduce((sum, at) => {
          const own = demand[at] ?? 0;
          const slowed = problem.accelerators[at % accelerators]?.slowdown(own, total - own) ?? 1;
          return sum + (prices.work[at] ?? 0) / slowed;
        }, 0);
        expect(earned).toBeLessThanOrEqual(1 + 1e-9);
      }
  }
});

test.each([
  { groups: 1, limit: 55, seed: 1, objective: "latency" },
  { groups: 1, limit: 100, seed: 2, objective: "throughput" },
  { groups: 2, limit: 80, seed: 3, objective: "latency" },
] as const)(
  "three networks on three accelerators are planned as trying every plan does: %o",
  (shape) => {
    const problem = exampleProblem({ ...shape, networks: 3, accelerators: 3, maxTransitions: 1 });
    const all = bruteForce(problem)?.cost ?? Number.NaN;
    const found = solve(problem, () => 0);
    expect(found.optimal).toBe(true);
    expect(found.cost - all).toBeGreaterThan(-1e-6);
    expect(found.cost - all).toBeLessThanOrEqual(OPTIMALITY_GAP * Math.abs(found.cost));
  },
);
