// Plans that need no search: every network as a whole on one accelerator, in every order of priority. The solver starts
// with them, and they are the baselines that it must never be worse than.

import type { Plan, Problem } from "../problem/types.ts";
import { feasible } from "./objective.ts";

/** The most combinations. With ten networks there would be billions. */
const MAX_COMBINATIONS = 512;

/** Groups that `accelerator` cannot run go where they take least time, because runtimes fall back in that way. */
const whole = ({ networks }: Problem, network: number, accelerator: number): number[] =>
  (networks[network]?.groups ?? []).map(({ timeMs }) =>
    Number.isFinite(timeMs[accelerator]) ? accelerator : timeMs.indexOf(Math.min(...timeMs)),
  );

/** Assignments of whole networks, up to a limit. Those with all networks on one accelerator are always included. */
function wholeAssignments(problem: Problem): number[][][] {
  const accelerators = problem.accelerators.map((_, a) => a);
  const each = problem.networks.map((_, n) => accelerators.map((a) => whole(problem, n, a)));
  const uniform = accelerators.map((a) => each.map((options) => options[a] ?? []));
  let mixed: number[][][] = [[]];
  for (const options of each) {
    mixed = mixed.flatMap((one) => options.map((option) => [...one, option]));
    mixed = mixed.slice(0, MAX_COMBINATIONS);
  }
  return [...uniform, ...mixed];
}

/** Orders of priority, the same on every accelerator: all orders of up to four networks, else the rotations. */
export function orders(networks: number): number[][] {
  if (networks > 4)
    return Array.from({ length: networks }, (_, by) =>
      Array.from({ length: networks }, (_, n) => (n + by) % networks),
    );
  return permutations(networks);
}

export function permutations(count: number): number[][] {
  if (count === 0) return [[]];
  return permutations(count - 1).flatMap((one) =>
    Array.from({ length: count }, (_, at) => one.toSpliced(at, 0, count - 1)),
  );
}

export const withOrder = (
  { accelerators }: Problem,
  assignment: readonly (readonly number[])[],
  order: readonly number[],
): Plan => ({ assignment, priority: accelerators.map(() => order) });

/** Those that satisfy the limits. */
export const naivePlans = (problem: Problem): Plan[] =>
  wholeAssignments(problem)
    .flatMap((assignment) =>
      orders(problem.networks.length).map((order) => withOrder(problem, assignment, order)),
    )
    .filter((plan) => feasible(problem, plan))
    .slice(0, MAX_COMBINATIONS);
