// The problem as flat arrays for the search. Groups are numbered through all networks. A group on an accelerator has
// the index `group * accelerators + accelerator`.

import type { Problem } from "../problem/types.ts";

export interface Flat {
  readonly problem: Problem;
  readonly networks: number;
  readonly accelerators: number;
  /** The first group of each network, with one more entry for the end. */
  readonly first: readonly number[];
  /** For each group on an accelerator. */
  readonly timeMs: Float64Array;
  readonly demand: Float64Array;
  readonly outMs: Float64Array;
  readonly inMs: Float64Array;
  readonly energyMj: Float64Array;
  /** For each group, the earlier groups whose results it reads. */
  readonly inputs: readonly (readonly number[])[];
  /** For each network, the transitions that it may make: at most one between each two neighbours. */
  readonly transitions: readonly number[];
  /** together[n * networks + m]: neither network waits for the other's end, so their groups can run at once. */
  readonly together: Uint8Array;
}

export function flatten(problem: Problem): Flat {
  const { networks, accelerators } = problem;
  const all = networks.flatMap(({ groups }) => groups);
  const first = [0];
  for (const { groups } of networks) first.push((first.at(-1) ?? 0) + groups.length);
  const each = (value: (group: (typeof all)[number], accelerator: number) => number) =>
    Float64Array.from(all.flatMap((group) => accelerators.map((_, a) => value(group, a))));
  return {
    problem,
    networks: networks.length,
    accelerators: accelerators.length,
    first,
    timeMs: each(({ timeMs }, a) => timeMs[a] ?? Infinity),
    demand: each(({ demand }, a) => demand[a] ?? 0),
    outMs: each(({ outMs }, a) => outMs[a] ?? 0),
    inMs: each(({ inMs }, a) => inMs[a] ?? 0),
    energyMj: each(({ energyMj }, a) => energyMj[a] ?? 0),
    inputs: networks.flatMap(({ groups }, n) =>
      groups.map(({ inputs }) => inputs.map((input) => (first[n] ?? 0) + input)),
    ),
    transitions: networks.map(({ groups }) => Math.min(problem.maxTransitions, groups.length - 1)),
    together: meetings(problem),
  };
}

function meetings({ networks }: Problem): Uint8Array {
  const count = networks.length;
  const waitsFor = (n: number, m: number): boolean =>
    (networks[n]?.after ?? []).some((before) => before === m || waitsFor(before, m));
  return Uint8Array.from({ length: count * count }, (_, at) => {
    const n = Math.floor(at / count);
    const m = at % count;
    return n !== m && !waitsFor(n, m) && !waitsFor(m, n) ? 1 : 0;
  });
}
