import { expect, test } from "vitest";
import { bruteForce } from "../../../test/soc/brute.ts";
import { exampleProblem } from "../../../test/soc/example.ts";
import { OPTIMALITY_GAP } from "./search.ts";
import { solve } from "./solve.ts";

const cases = Array.from({ length: 20 }, (_, i) => ({
  networks: 2,
  groups: 5 + (i % 2),
  maxTransitions: [1, 2, 4, Infinity][i % 4] ?? 4,
  seed: 100 + i,
  objective: i % 3 === 0 ? ("throughput" as const) : ("latency" as const),
  limit: 60 + 10 * (i % 5),
}));

test.each(cases)("every plan of 2 x $groups was tried, seed $seed", (shape) => {
  const problem = exampleProblem(shape);
  const all = bruteForce(problem);
  const found = solve(problem, () => 0);
  expect(found.optimal).toBe(true);
  expect(found.cost - (all?.cost ?? Number.NaN)).toBeLessThanOrEqual(
    OPTIMALITY_GAP * Math.abs(found.cost),
  );
  expect(found.cost).toBeGreaterThanOrEqual((all?.cost ?? Number.NaN) - 1e-6);
});
