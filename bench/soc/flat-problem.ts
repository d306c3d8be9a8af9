// Problems in other forms, for measurements.
import type { Problem } from "#soc";

/** The same problem, of which each group can run on the accelerator of the assignment alone. */
export const assigned = (
  problem: Problem,
  assignment: readonly (readonly number[])[],
): Problem => ({
  ...problem,
  networks: problem.networks.map((network, n) => ({
    ...network,
    groups: network.groups.map((group, g) => ({
      ...group,
      timeMs: group.timeMs.map((time, a) => (a === assignment[n]?.[g] ? time : Infinity)),
    })),
  })),
});

/**
 * Lists for JSON. Groups are numbered through all networks, and a group on an accelerator is `group * accelerators +
 * accelerator`. Times of Infinity become null. `slowdown[g][h]`: of g beside h.
 */
export function flatProblem({ networks, accelerators, maxTransitions }: Problem) {
  const groups = networks.flatMap((network) => network.groups);
  const first = [0];
  for (const network of networks) first.push((first.at(-1) ?? 0) + network.groups.length);
  const demand = groups.flatMap((group) => group.demand);
  return {
    first,
    transitions: networks.map((network) => Math.min(maxTransitions, network.groups.length - 1)),
    timeMs: groups.flatMap((group) => group.timeMs),
    outMs: groups.flatMap((group) => group.outMs),
    inMs: groups.flatMap((group) => group.inMs),
    inputs: networks.flatMap((network, n) =>
      network.groups.map(({ inputs }) => inputs.map((input) => (first[n] ?? 0) + input)),
    ),
    slowdown: demand.map((own, g) =>
      demand.map((others) => accelerators[g % accelerators.length]?.slowdown(own, others) ?? 1),
    ),
  };
}
