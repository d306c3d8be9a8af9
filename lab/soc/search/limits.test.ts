import { expect, test } from "vitest";
import { exampleProblem } from "../../../test/soc/example.ts";
import { tighten } from "./limits.ts";
import { NODES_A_SLICE, OPTIMALITY_GAP, search } from "./search.ts";

test.each([
  { networks: 2, groups: 6, maxTransitions: 4, seed: 1 },
  { networks: 2, groups: 6, maxTransitions: Infinity, seed: 2, objective: "throughput" as const },
  { networks: 3, groups: 5, maxTransitions: 3, seed: 3 },
])("rising limits end at the optimum of one tree, and no bound is above it: %j", (shape) => {
  const problem = exampleProblem(shape);
  const whole = search(problem);
  while (!whole.done) whole.run(NODES_A_SLICE);
  const first = search(problem);
  while (!first.plan) first.run(1);
  const firstCost = first.cost;
  const tightening = tighten(problem, first);
  let [costs, bounds] = [[firstCost], [first.bound]];
  for (let step = tightening.next(); ; step = tightening.next()) {
    costs = [...costs, step.value.cost];
    bounds = [...bounds, step.value.bound];
    if (step.done) break;
  }
  const optimum = whole.cost;
  const tolerance = OPTIMALITY_GAP * Math.abs(optimum);
  expect(Math.abs((costs.at(-1) ?? 0) - optimum)).toBeLessThanOrEqual(tolerance);
  expect(costs.at(-1)).toBeLessThan(firstCost);
  expect(Math.max(...bounds)).toBeLessThanOrEqual(optimum + 1e-9);
  expect(bounds).toEqual([...bounds].sort((a, b) => a - b));
});

test("with a tree that is left at once, the limits alone prove the plan", () => {
  const problem = exampleProblem({ networks: 3, groups: 8, maxTransitions: 2, seed: 1 });
  const first = search(problem);
  while (!first.plan) first.run(1);
  first.run(200);
  const limits = { ofFirst: 0, ofFewer: 0 };
  const bounds = new Set<number>();
  const tightening = tighten(problem, first, limits);
  let last = tightening.next();
  for (; !last.done; last = tightening.next()) bounds.add(last.value.bound);
  const whole = search(problem);
  while (!whole.done) whole.run(NODES_A_SLICE);
  expect(last.value.cost).toBeCloseTo(whole.cost, 3);
  expect(bounds.size).toBeGreaterThan(2);
});
