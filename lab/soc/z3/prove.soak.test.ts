import { expect, test } from "vitest";
import { exampleProblem } from "../../../test/soc/example.ts";
import { OPTIMALITY_GAP } from "../search/search.ts";
import { solve } from "../search/solve.ts";
import { makespanMs } from "../search/timeline.ts";
import { prove } from "./prove.ts";

const HOUR_MS = 3_600_000;
const ours = (problem: ReturnType<typeof exampleProblem>) =>
  makespanMs(solve(problem, () => 0).timeline);

test.each([1, 2, 3])(
  "Z3, by itself, agrees on two networks of four groups, seed %i",
  async (seed) => {
    const shape = { networks: 2, groups: 4, maxTransitions: 2, seed, limit: 80 };
    const problem = exampleProblem(shape);
    const proof = await prove(problem, () => performance.now(), Infinity);
    expect(proof.optimal).toBe(true);
    expect(Math.abs((proof.makespanMs ?? 0) - ours(problem))).toBeLessThan(
      2 * OPTIMALITY_GAP * ours(problem),
    );
  },
  HOUR_MS,
);

test.each([1, 2, 3])(
  "Z3 agrees on two networks of six groups, seed %i",
  async (seed) => {
    const problem = exampleProblem({ networks: 2, groups: 6, maxTransitions: 4, seed });
    const claimed = ours(problem);
    const proof = await prove(
      problem,
      () => performance.now(),
      Infinity,
      claimed * (1 + OPTIMALITY_GAP),
    );
    expect(proof.optimal).toBe(true);
    expect(Math.abs((proof.makespanMs ?? 0) - claimed)).toBeLessThan(2 * OPTIMALITY_GAP * claimed);
  },
  HOUR_MS,
);
