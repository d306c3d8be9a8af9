// Improves a plan by small changes: another accelerator for a run of groups, or another order of priority. It finds
// good plans earlier than the search does.

import type { Plan, Problem } from "../problem/types.ts";
import { cost, feasible } from "./objective.ts";
import { timeline } from "./timeline.ts";

/** Yields each plan that is better than all before, and undefined for a change that is not. */
export function* climb(
  problem: Problem,
  from: Plan,
  random: () => number,
): Generator<{ plan: Plan; cost: number } | undefined> {
  let plan = from;
  let best = cost(problem.objective, timeline(problem, plan).endMs);
  for (;;) {
    const changed = change(problem, plan, random);
    let better: { plan: Plan; cost: number } | undefined;
    if (feasible(problem, changed)) {
      const found = cost(problem.objective, timeline(problem, changed).endMs);
      // Equally good plans are accepted too, so that a plateau is crossed.
      if (found <= best) plan = changed;
      if (found < best) better = { plan, cost: found };
      best = Math.min(best, found);
    }
    yield better;
  }
}

function change(problem: Problem, plan: Plan, random: () => number): Plan {
  const pick = (count: number) => Math.floor(random() * count);
  if (problem.networks.length > 1 && random() < 0.15) {
    const at = pick(plan.priority.length);
    return {
      ...plan,
      priority: plan.priority.map((one, a) => (a === at ? moveOne(one, pick) : one)),
    };
  }
  const network = pick(problem.networks.length);
  return {
    ...plan,
    assignment: plan.assignment.map((one, n) => {
      if (n !== network) return one;
      const begin = pick(one.length);
      const end = begin + 1 + pick(one.length - begin);
      const to = pick(problem.accelerators.length);
      return one.map((a, i) => (i >= begin && i < end ? to : a));
    }),
  };
}

function moveOne(order: readonly number[], pick: (count: number) => number): number[] {
  const moved = [...order];
  const [one] = moved.splice(pick(moved.length), 1);
  if (one !== undefined) moved.splice(pick(moved.length + 1), 0, one);
  return moved;
}
