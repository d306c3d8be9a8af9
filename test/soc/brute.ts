// Every plan there is, one after another: what the tests hold the search against. Grows as accelerators to the
// power of groups, so it is for a dozen groups.

import type { Plan, Problem } from "#soc";
import { cost, feasible, permutations, timeline } from "#soc";

/** The best plan, and its cost; undefined if none keeps the limits. */
export function bruteForce(problem: Problem): { plan: Plan; cost: number } | undefined {
  let best: { plan: Plan; cost: number } | undefined;
  const priorities = product(problem.accelerators.map(() => permutations(problem.networks.length)));
  const mappings = problem.networks.map(({ groups }) =>
    product(groups.map(() => problem.accelerators.map((_, a) => a))),
  );
  for (const assignment of product(mappings)) {
    const [first = []] = priorities;
    if (!feasible(problem, { assignment, priority: first })) continue;
    for (const priority of priorities) {
      const plan = { assignment, priority };
      const found = cost(problem.objective, timeline(problem, plan).endMs);
      if (found < (best?.cost ?? Infinity)) best = { plan, cost: found };
    }
  }
  return best;
}

/** One of each list, in all ways. */
export function product<T>(lists: readonly (readonly T[])[]): T[][] {
  return lists.reduce<T[][]>(
    (all, list) => all.flatMap((one) => list.map((x) => [...one, x])),
    [[]],
  );
}
