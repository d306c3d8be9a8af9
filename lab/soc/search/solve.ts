// The whole solver: first naive plans, then better ones by climbing, then branch and bound, under rising limits if it is
// not done soon, until no state is left or the time is up. It is an any-time solver: whenever it is stopped, it has a plan and says how far that may be from the
// best.

import { minimalStandard } from "#core";
import { noPlan } from "../problem/errors.ts";
import type { Plan, Problem, Timeline } from "../problem/types.ts";
import type { Bounds } from "./bounds.ts";
import { climb } from "./climb.ts";
import { type Progress, tighten } from "./limits.ts";
import { naivePlans } from "./naive.ts";
import { cost, gap, withinBudget } from "./objective.ts";
import { NODES_A_SLICE, OPTIMALITY_GAP, search } from "./search.ts";
import { timeline } from "./timeline.ts";

export interface Solution {
  readonly plan: Plan;
  readonly timeline: Timeline;
  /** As `cost` defines it. */
  readonly cost: number;
  /** No plan is better by more than this part of its cost. A gap of at most `OPTIMALITY_GAP` counts as optimal. */
  readonly gap: number;
  readonly optimal: boolean;
  /**
   * No schedule whatever is better by more than this part of its cost, including schedules that are no plans: an
   * accelerator idles on purpose, or the order of priority changes in the middle.
   */
  readonly idlingGap: number;
  readonly nodes: number;
}

/** A tree with a plan that is not done after this many states is continued by `tighten`. */
const FIRST_NODES = 500_000;
const CLIMBS_A_SLICE = 100;
/** Climbing tries so many changes for each group before the search begins. */
const CLIMBS = 40;

/**
 * Yields the best plan so far after every slice of work, or undefined while there is none. Returns when the plan is
 * proven optimal. Throws a UserError if no plan satisfies the limits.
 */
export function* improve(problem: Problem): Generator<Solution | undefined, Solution> {
  const naive = yield* bestNaive(problem);
  const tree = search(problem);
  checkFeasible(problem, tree.bounds);
  const solutionOf = ({ plan, cost, bound, nodes }: Progress, done: boolean): Solution => {
    const distance = gap(cost, bound);
    return {
      plan,
      timeline: timeline(problem, plan),
      cost,
      gap: done ? Math.min(distance, OPTIMALITY_GAP) : distance,
      optimal: done || distance <= OPTIMALITY_GAP,
      idlingGap: gap(cost, tree.relaxedBound),
      nodes,
    };
  };
  const solution = (): Solution | undefined => {
    const { plan, cost, bound, nodes, done } = tree;
    return plan && solutionOf({ plan, cost, bound, nodes }, done);
  };
  if (naive) {
    tree.offer(naive.plan, naive.cost);
    yield solution();
    const groups = problem.networks.reduce((sum, one) => sum + one.groups.length, 0);
    const climbing = climb(problem, naive.plan, minimalStandard(1));
    for (let tries = 0; tries < CLIMBS * groups; tries++) {
      const better = climbing.next().value;
      if (better) tree.offer(better.plan, better.cost);
      if (tries % CLIMBS_A_SLICE === 0) yield solution();
    }
  }
  while (!tree.done && !(tree.plan && tree.nodes >= FIRST_NODES)) {
    tree.run(NODES_A_SLICE);
    yield solution();
  }
  if (!tree.done) {
    const tightening = tighten(problem, tree);
    for (;;) {
      const { value, done = false } = tightening.next();
      const found = solutionOf(value, done);
      if (done) return found;
      yield found;
    }
  }
  const last = solution();
  if (!last)
    throw noPlan("No plan keeps the limits.", "Allow more transitions or a larger energy budget.");
  return last;
}

/**
 * The best naive plan, before the search has made its bounds, which takes longer. Yields the first one at once, because
 * networks may wait for a plan, and then the best. Its gap is to a simple bound: each network alone, every group where it
 * takes least time.
 */
function* bestNaive(problem: Problem): Generator<Solution, Solution | undefined> {
  const alone = problem.networks.map(({ groups }) =>
    groups.reduce((sum, { timeMs }) => sum + Math.min(...timeMs), 0),
  );
  const bound = cost(problem.objective, alone);
  let best: Solution | undefined;
  for (const plan of naivePlans(problem)) {
    const found = timeline(problem, plan);
    const itsCost = cost(problem.objective, found.endMs);
    if (itsCost >= (best?.cost ?? Infinity)) continue;
    const distance = gap(itsCost, bound);
    const optimal = distance <= OPTIMALITY_GAP;
    const isFirst = best === undefined;
    best = {
      plan,
      timeline: found,
      cost: itsCost,
      gap: distance,
      optimal,
      idlingGap: distance,
      nodes: 0,
    };
    if (isFirst) yield best;
  }
  if (best) yield best;
  return best;
}

/** Throws an error for limits that can be refuted without a search. */
function checkFeasible(problem: Problem, { way, energy, levels }: Bounds) {
  const stride = (problem.accelerators.length + 1) * levels;
  let first = 0;
  let least = 0;
  for (const { name, groups } of problem.networks) {
    const at = first * stride + levels - 1;
    if (way.table[at] === Infinity)
      throw noPlan(
        `Network "${name}" can't be run with ${problem.maxTransitions} transitions: its groups need more accelerators in turn.`,
        "Allow more transitions.",
      );
    least += energy.table[at] ?? 0;
    first += groups.length;
  }
  if (!withinBudget(problem, least))
    throw noPlan(
      `The networks need ${least.toPrecision(4)} mJ at least, more than the budget of ${problem.energyBudgetMj} mJ.`,
      "Give a larger energy budget, or allow more transitions.",
    );
}

/**
 * `clock`: in milliseconds. When time or memory runs out, returns the best plan so far, at least the best naive one.
 * `onSlice` gets it after every slice.
 */
export function solve(
  problem: Problem,
  clock: () => number,
  limitMs = Infinity,
  onSlice: (best: Solution, elapsedMs: number) => void = () => {},
): Solution {
  const began = clock();
  const steps = improve(problem);
  for (let slices = 1; ; slices++) {
    const { done, value } = steps.next();
    const elapsed = clock() - began;
    if (value) onSlice(value, elapsed);
    if (done) return value;
    // The first plan is any naive one.
    if (value && slices > 1 && elapsed >= limitMs) return value;
  }
}
