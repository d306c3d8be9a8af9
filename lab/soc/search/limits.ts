// Problems that one tree does not prove soon. Two facts help. A plan with fewer transitions is a plan, and there are far
// fewer of them, so their optimum is found early and limits the tree of all plans. And a tree that looks only for plans
// slightly above the bound ends early; if it finds none, its limit is the new bound.

import type { Plan, Problem } from "../problem/types.ts";
import { NODES_A_SLICE, OPTIMALITY_GAP, type Search, search } from "./search.ts";

export interface Progress {
  readonly plan: Plan;
  readonly cost: number;
  /** No plan costs less. */
  readonly bound: number;
  /** States visited, in the first tree too. */
  readonly nodes: number;
}

/** Trees are left after this many states if they are not done: the first one, and those of fewer transitions. */
const MAX_NODES = { ofFirst: 4_000_000, ofFewer: 3_000_000 };
/** The limit rises from the bound to the best plan in this many steps. Each tree takes about five times the one before. */
const STEPS = 10;

/**
 * Continues from `first`, which has a plan, until a plan is proven optimal; its bound is then OPTIMALITY_GAP below it.
 * Yields after every slice of work.
 */
export function* tighten(
  problem: Problem,
  first: Search,
  maxNodes = MAX_NODES,
): Generator<Progress, Progress> {
  const { plan } = first;
  if (!plan) throw new Error("the first tree has no plan");
  let best: Progress = { plan, cost: first.cost, bound: first.bound, nodes: first.nodes };

  function* explore(tree: Search, most: number): Generator<Progress, void> {
    const before = best.nodes - tree.nodes;
    while (!tree.done && tree.nodes < most) {
      tree.run(NODES_A_SLICE);
      const better = tree.plan && { plan: tree.plan, cost: tree.cost };
      best = { ...best, ...better, nodes: before + tree.nodes };
      yield best;
    }
  }

  const groups = Math.max(...problem.networks.map((one) => one.groups.length));
  const transitions = Math.min(problem.maxTransitions, groups - 1);
  for (let fewer = 1; fewer < transitions; fewer++) {
    const tree = search({ ...problem, maxTransitions: fewer }, { below: best.cost });
    yield* explore(tree, maxNodes.ofFewer);
    if (!tree.done) break;
    if (fewer > 1) continue;
    first.offer(best.plan, best.cost);
    yield* explore(first, maxNodes.ofFirst);
    if (first.done) return { ...best, bound: first.bound };
  }

  const step = (best.cost - best.bound) / STEPS;
  for (;;) {
    const below = Math.min(best.cost, best.bound + step);
    const isLast = below === best.cost;
    const tree = search(problem, { below, bounds: first.bounds });
    yield* explore(tree, Infinity);
    const limit = tree.cost - OPTIMALITY_GAP * Math.abs(tree.cost);
    best = { ...best, bound: Math.max(best.bound, limit) };
    if (tree.plan || isLast) return best;
  }
}
