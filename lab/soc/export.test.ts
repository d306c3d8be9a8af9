import { expect, test } from "vitest";
import { exampleProblem } from "../../test/soc/example.ts";
import { planDocument } from "./export.ts";
import { solve } from "./search/solve.ts";

test("a group may be submitted as early as its inputs and the tolerance allow", () => {
  const problem = {
    ...exampleProblem({ networks: 3, groups: 3, maxTransitions: 2, seed: 1 }),
    overlapMs: 0.1,
  };
  const { timeline } = planDocument(
    problem,
    solve(problem, () => 0),
  );
  const waits = timeline.map(({ readyMs, startMs }) => startMs - readyMs);
  expect(Math.max(...waits)).toBeGreaterThan(0.1);
  expect(timeline.map(({ startMs, submitMs }) => startMs - submitMs)).toEqual(
    waits.map((wait) => expect.closeTo(Math.min(wait, 0.1), 9)),
  );
});
