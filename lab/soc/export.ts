// A plan by names, for the program that carries it out: where each group runs, which goes first, and the predicted
// times.

import type { Problem, Span } from "./problem/types.ts";
import { cost, energyMj, transitions } from "./search/objective.ts";
import type { Solution } from "./search/solve.ts";
import { makespanMs } from "./search/timeline.ts";

export function planDocument(problem: Problem, { plan, timeline, ...solution }: Solution) {
  const networkName = (n: number) => problem.networks[n]?.name ?? "";
  const acceleratorName = (a: number) => problem.accelerators[a]?.name ?? "";
  const groupOf = ({ network, group }: Span) =>
    problem.networks[network]?.groups[group]?.name ?? "";
  return {
    version: 1,
    objective: problem.objective,
    optimal: solution.optimal,
    gap: solution.gap,
    idlingGap: solution.idlingGap,
    nodes: solution.nodes,
    makespanMs: makespanMs(timeline),
    throughputPerS: -1000 * cost("throughput", timeline.endMs),
    energyMj: energyMj(problem, plan),
    networks: problem.networks.map(({ name, groups }, n) => ({
      name,
      endMs: timeline.endMs[n],
      transitions: transitions(plan.assignment[n] ?? []),
      groups: groups.map((group, i) => ({
        name: group.name,
        accelerator: acceleratorName(plan.assignment[n]?.[i] ?? -1),
      })),
    })),
    priority: Object.fromEntries(
      problem.accelerators.map(({ name }, a) => [name, (plan.priority[a] ?? []).map(networkName)]),
    ),
    timeline: timeline.spans.map((span) => ({
      network: networkName(span.network),
      group: groupOf(span),
      accelerator: acceleratorName(span.accelerator),
      readyMs: span.readyMs,
      submitMs: Math.max(span.readyMs, span.startMs - problem.overlapMs),
      startMs: span.startMs,
      endMs: span.endMs,
      contention: span.pieces.filter(({ slowdown }) => slowdown > 1),
    })),
  };
}
