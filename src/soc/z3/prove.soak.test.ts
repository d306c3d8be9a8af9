import { expect, test } from "vitest";
import { exampleProblem } from "../example.ts";
import { OPTIMALITY_GAP } from "../search.ts";
import { solve } from "../solve.ts";
import { makespanMs } from "../timeline.ts";
import { prove } from "./prove.ts";

test.each([2, 3])(
  "Z3 agrees on two networks of three groups, seed %i",
  async (seed) => {
    const shape = { networks: 2, groups: 3, maxTransitions: 2, seed, limit: 80 };
    const problem = exampleProblem(shape);
    const ours = makespanMs(solve(problem, () => 0).timeline);
    const proof = await prove(problem, () => performance.now(), Infinity);
    expect(proof.optimal).toBe(true);
    expect(Math.abs((proof.makespanMs ?? 0) - ours)).toBeLessThan(2 * OPTIMALITY_GAP * ours);
  },
  3_600_000,
);
