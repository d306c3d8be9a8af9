// The cost that a solver minimises. Both objectives are functions of the networks' ends, and they never fall when an
// end moves later. The bounds need no other property.
import type { Objective, Plan, Problem } from "../problem/types.ts";

/** The largest end (ms), or minus the sum of 1 / end (1/ms): HaX-CoNN, equations 11 and 10. */
export function cost(objective: Objective, endMs: readonly number[]): number {
  return objective === "latency"
    ? Math.max(0, ...endMs)
    : -endMs.reduce((sum, one) => sum + 1 / one, 0);
}

/** How far `found` may be above `bound`, relative to `found`. */
export const gap = (found: number, bound: number): number =>
  Math.max(0, (found - bound) / Math.abs(found));

/** HaX-CoNN, equation 3: the neighbours that run on different accelerators. */
export const transitions = (assignment: readonly number[]): number =>
  assignment.filter((one, i) => i > 0 && one !== assignment[i - 1]).length;

/** Relative: sums of decimal fractions are off by rounding, such as 0.1 + 0.2 beside a budget of 0.3. */
const BUDGET_TOLERANCE = 1e-9;

export const withinBudget = ({ energyBudgetMj }: Problem, energyMj: number): boolean =>
  energyMj <= energyBudgetMj * (1 + BUDGET_TOLERANCE);

export const energyMj = ({ networks }: Problem, { assignment }: Plan): number =>
  networks
    .flatMap(({ groups }, n) =>
      groups.map(({ energyMj }, i) => energyMj[assignment[n]?.[i] ?? -1] ?? 0),
    )
    .reduce((sum, one) => sum + one, 0);

/** Whether every group is on an accelerator that can run it, and the limits are satisfied. */
export const feasible = (problem: Problem, plan: Plan): boolean =>
  problem.networks.every(({ groups }, n) => {
    const assignment = plan.assignment[n] ?? [];
    return (
      transitions(assignment) <= problem.maxTransitions &&
      groups.every(({ timeMs }, i) => Number.isFinite(timeMs[assignment[i] ?? -1]))
    );
  }) && withinBudget(problem, energyMj(problem, plan));
