// Branch and bound over plans. A timeline is built from time 0 on. The search branches when a network's next group
// needs an accelerator, and when either of two waiting networks could go first. It goes depth first, and the smaller
// bound first, so memory holds only one path and its siblings.

import type { Plan, Problem } from "../problem/types.ts";
import { type Bounds, bounds } from "./bounds.ts";
import { flatten } from "./flat.ts";
import { type Decision, type State, walk } from "./walk.ts";

/**
 * Relative. A plan counts as optimal if no other is better by more than this; solvers of integer programs use the same
 * value.
 */
export const OPTIMALITY_GAP = 1e-4;

/** Small enough to stop within a few milliseconds, and large enough that reading the clock costs little. */
export const NODES_A_SLICE = 2_000;

export interface Limits {
  /** Only plans that cost less are looked for; any, if left out. */
  readonly below?: number;
  /** Those of another tree of the same problem, which need not be made again. */
  readonly bounds?: Bounds;
}

export interface Search {
  readonly bounds: Bounds;
  /** The best plan so far; undefined before the first. */
  readonly plan: Plan | undefined;
  /** The cost of that plan; without a plan, the cost that plans must be below. */
  readonly cost: number;
  /** No plan costs less. */
  readonly bound: number;
  /**
   * The bound before any decision. It relaxes the order of all groups, so schedules that idle on purpose keep it too.
   */
  readonly relaxedBound: number;
  readonly done: boolean;
  /** The number of states visited. */
  readonly nodes: number;
  /** Continues for about this many nodes. */
  run(nodes: number): void;
  /** Offers a plan from elsewhere, with its cost. */
  offer(plan: Plan, cost: number): void;
}

interface Open {
  readonly state: State;
  readonly decision: Decision;
}

export function search(problem: Problem, limits: Limits = {}): Search {
  const flat = flatten(problem);
  const toCome = limits.bounds ?? bounds(flat);
  const along = walk(flat, toCome);
  const spare: State[] = [];
  const stack: Open[] = [];
  let plan: Plan | undefined;
  let best = limits.below ?? Infinity;
  let nodes = 0;
  const root = along.start();
  const relaxedBound = root.bound;
  const limit = () => best - OPTIMALITY_GAP * Math.abs(best === Infinity ? 0 : best);

  /** Runs to the next decision. Puts the states that are still promising into `into`. */
  function goOn(state: State, into: Open[]) {
    nodes++;
    const outcome = along.run(state, limit());
    if (typeof outcome === "object") into.push({ state, decision: outcome });
    else {
      if (outcome === "done") {
        best = state.bound;
        plan = planOf(state);
      }
      spare.push(state);
    }
  }

  function planOf(state: State): Plan {
    const assignment = problem.networks.map((_, n) => [
      ...state.assigned.subarray(flat.first[n] ?? 0, flat.first[n + 1] ?? 0),
    ]);
    return { assignment, priority: along.priority(state) };
  }

  function branch({ state, decision }: Open) {
    const found: Open[] = [];
    for (const option of decision.options) {
      const child = spare.pop() ?? along.start();
      along.copy(state, child);
      if (decision.kind === "assign") along.assign(child, decision.network, option);
      else along.putFirst(child, decision.accelerator, option);
      goOn(child, found);
    }
    found.sort((a, b) => b.state.bound - a.state.bound);
    stack.push(...found);
    spare.push(state);
  }

  goOn(root, stack);
  const least = () => stack.reduce((low, { state }) => Math.min(low, state.bound), limit());
  return {
    bounds: toCome,
    relaxedBound,
    get plan() {
      return plan;
    },
    get cost() {
      return best;
    },
    get bound() {
      return least();
    },
    get done() {
      return stack.length === 0;
    },
    get nodes() {
      return nodes;
    },
    offer(offered, cost) {
      if (cost < best) {
        best = cost;
        plan = offered;
      }
    },
    run(count) {
      const until = nodes + count;
      while (nodes < until) {
        const open = stack.pop();
        if (!open) return;
        if (open.state.bound < limit()) branch(open);
        else spare.push(open.state);
      }
    },
  };
}
