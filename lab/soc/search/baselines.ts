// Other ways to plan, in the same table. The published mappings are made by their own rules. None of them knows
// contention, so each has its own prediction of the latency; the time that it then takes comes from our timeline. Each
// gets the order of priority that is best by its own prediction.

import { noSlowdown } from "../problem/slowdown.ts";
import type { Plan, Problem, Timeline } from "../problem/types.ts";
import { naivePlans, orders, withOrder } from "./naive.ts";
import { cost } from "./objective.ts";
import { makespanMs, timeline, transitionMs } from "./timeline.ts";

export interface Baseline {
  readonly name: string;
  readonly plan: Plan;
  /** As the baseline itself predicts it. */
  readonly predictedMs: number;
  readonly timeline: Timeline;
}

/** The same problem without contention, and without transition costs if `costs` is false. */
export const blind = (problem: Problem, costs: boolean): Problem => ({
  ...problem,
  accelerators: problem.accelerators.map((one) => ({ ...one, slowdown: noSlowdown })),
  networks: costs
    ? problem.networks
    : problem.networks.map((network) => ({
        ...network,
        groups: network.groups.map((group) => ({
          ...group,
          outMs: group.outMs.map(() => 0),
          inMs: group.inMs.map(() => 0),
        })),
      })),
});

/** Whole networks: all on one accelerator, and each on one but not all on the same. */
export function naiveBaselines(problem: Problem): Baseline[] {
  const plans = naivePlans(problem);
  const used = ({ assignment }: Plan) => new Set(assignment.flat());
  const single = problem.accelerators.map(({ name }, a) => ({
    name: `${name} only`,
    plans: plans.filter((plan) => [...used(plan)].every((one) => one === a)),
  }));
  const fixed = {
    name: problem.accelerators.map(({ name }) => name).join(" & "),
    plans: plans.filter((plan) => used(plan).size > 1),
  };
  return [...single, fixed].flatMap(({ name, plans }) => {
    const best = bestOf(problem, plans);
    return best ? [baseline(problem, problem, name, best)] : [];
  });
}

/** Mensa, Herald and H2H. docs/guide/layer-mapping.md says what is taken from each. */
export const baselines = (problem: Problem): Baseline[] => [
  ...naiveBaselines(problem),
  baselineOf(problem, blind(problem, true), "Mensa", greedy(problem)),
  baselineOf(problem, blind(problem, false), "Herald", mapByList(blind(problem, false))),
  baselineOf(
    problem,
    blind(problem, true),
    "H2H",
    remap(blind(problem, true), mapByList(blind(problem, true))),
  ),
];

function baselineOf(
  problem: Problem,
  seen: Problem,
  name: string,
  assignment: number[][],
): Baseline {
  const plans = orders(problem.networks.length).map((order) =>
    withOrder(problem, assignment, order),
  );
  return baseline(problem, seen, name, bestOf(seen, plans) ?? withOrder(problem, assignment, []));
}

const baseline = (problem: Problem, seen: Problem, name: string, plan: Plan): Baseline => ({
  name,
  plan,
  predictedMs: makespanMs(timeline(seen, plan)),
  timeline: timeline(problem, plan),
});

function bestOf(problem: Problem, plans: readonly Plan[]): Plan | undefined {
  const costs = plans.map((plan) => cost(problem.objective, timeline(problem, plan).endMs));
  return plans[costs.indexOf(Math.min(...costs))];
}

/** Mensa: one network at a time; each group runs where it ends soonest, including the move there. */
function greedy(problem: Problem): number[][] {
  return problem.networks.map(({ groups }, n) => {
    const on: number[] = [];
    for (const [i, { timeMs }] of groups.entries()) {
      const ends = timeMs.map((time, a) => time + transitionMs(problem, [...on, a], n, i));
      on.push(ends.indexOf(Math.min(...ends)));
    }
    return on;
  });
}

/**
 * Herald: all networks together. Of the network that is ready first, the next group is put where it ends soonest, given
 * the groups placed so far. `seen` has no transition costs.
 */
function mapByList(seen: Problem): number[][] {
  const on = seen.networks.map((): number[] => []);
  const ready = seen.networks.map(() => 0);
  const free = seen.accelerators.map(() => 0);
  const begins = (n: number) =>
    (seen.networks[n]?.after ?? []).reduce((latest, m) => Math.max(latest, ready[m] ?? 0), 0);
  const open = (n: number) => (on[n]?.length ?? 0) < (seen.networks[n]?.groups.length ?? 0);
  for (;;) {
    const waiting = seen.networks
      .map((_, n) => n)
      .filter((n) => open(n) && !(seen.networks[n]?.after ?? []).some(open));
    const [first, ...others] = waiting;
    if (first === undefined) return on;
    const at = (n: number) => Math.max(ready[n] ?? 0, begins(n));
    const n = others.reduce((soonest, other) => (at(other) < at(soonest) ? other : soonest), first);
    const mapped = on[n] ?? [];
    const i = mapped.length;
    const ends = (seen.networks[n]?.groups[i]?.timeMs ?? []).map(
      (time, a) => Math.max(free[a] ?? 0, at(n) + transitionMs(seen, [...mapped, a], n, i)) + time,
    );
    const chosen = ends.indexOf(Math.min(...ends));
    mapped.push(chosen);
    ready[n] = ends[chosen] ?? 0;
    free[chosen] = ready[n] ?? 0;
  }
}

/** H2H: starts from such a list, and moves runs of groups to their neighbours' accelerators while that helps. */
function remap(seen: Problem, start: number[][]): number[][] {
  let on = start;
  const [order = []] = orders(seen.networks.length);
  const value = (assignment: number[][]) =>
    cost(seen.objective, timeline(seen, withOrder(seen, assignment, order)).endMs);
  let best = value(on);
  for (let better = true; better; ) {
    better = false;
    for (const candidate of joinRuns(seen, on)) {
      const found = value(candidate);
      if (found < best) {
        best = found;
        on = candidate;
        better = true;
        break;
      }
    }
  }
  return on;
}

/** All variations in which one run of groups on an accelerator moves to that of the run before or after it. */
function joinRuns(seen: Problem, on: number[][]): number[][][] {
  return on.flatMap((mapped, n) => {
    const starts = mapped.flatMap((a, i) => (i === 0 || a !== mapped[i - 1] ? [i] : []));
    return starts.flatMap((from, run) => {
      const to = starts[run + 1] ?? mapped.length;
      const neighbours = new Set(
        [mapped[from - 1], mapped[to]].filter((a) => a !== undefined && a !== mapped[from]),
      );
      return [...neighbours].flatMap((a) => {
        const changed = mapped.map((one, i) => (i >= from && i < to && a !== undefined ? a : one));
        const runs = changed.every((one, i) =>
          Number.isFinite(seen.networks[n]?.groups[i]?.timeMs[one]),
        );
        return runs ? [on.map((one, m) => (m === n ? changed : one))] : [];
      });
    });
  });
}
