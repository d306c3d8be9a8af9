import fc from "fast-check";
import { expect, test } from "vitest";
import { shareOut } from "#place";
import { placeSeveral, type SeveralProblem } from "./several.ts";

/** The worth of the best placement, found by trying every one. */
function best({ seats, jobs, most, worth }: SeveralProblem): number {
  const groups: number[][] = Array.from({ length: seats }, () => []);
  const from = (next: number): number => {
    if (next === jobs) return groups.reduce((sum, group, s) => sum + worth(s, group), 0);
    let top = from(next + 1);
    for (const group of groups)
      if (group.length < most) {
        group.push(next);
        top = Math.max(top, from(next + 1));
        group.pop();
      }
    return top;
  };
  return from(0);
}

test("several jobs a GPU: each at most once, no more than allowed, and near the best on small cases", () => {
  const problems = fc.record({
    seats: fc.integer({ min: 1, max: 3 }),
    needs: fc.array(fc.double({ min: 0.1, max: 1, noNaN: true }), { minLength: 1, maxLength: 6 }),
    free: fc.array(fc.double({ min: 0.2, max: 1, noNaN: true }), { minLength: 3, maxLength: 3 }),
  });
  let found = 0;
  let possible = 0;
  fc.assert(
    fc.property(problems, ({ seats, needs, free }) => {
      // A group's worth: how much of the SMs that they need the jobs get from those that the high side leaves.
      const problem: SeveralProblem = {
        seats,
        jobs: needs.length,
        most: 2,
        worth: (s, group) => {
          const wants = group.map((one) => needs[one] ?? 1);
          return shareOut(free[s] ?? 0, wants).reduce(
            (sum, got, i) => sum + got / (wants[i] ?? 1),
            0,
          );
        },
      };
      const groups = placeSeveral(problem);
      const all = groups.flat();
      expect(new Set(all).size).toBe(all.length);
      expect(Math.max(...groups.map((group) => group.length))).toBeLessThanOrEqual(2);
      const mine = groups.reduce((sum, group, s) => sum + problem.worth(s, group), 0);
      const top = best(problem);
      expect(mine).toBeLessThanOrEqual(top + 1e-9);
      expect(mine).toBeGreaterThanOrEqual(top / 2);
      found += mine;
      possible += top;
    }),
    { numRuns: 300, seed: 6 },
  );
  expect(found / possible).toBeGreaterThan(0.99);
});
