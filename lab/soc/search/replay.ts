// Checks the solvers by other means than theirs. The schedule is carried out in small steps of time, as a machine would
// do it, from the assignment and the order alone. The replay has no priorities, events or bounds, so it does not share
// the solvers' mistakes.

import type { Plan, Problem, Timeline } from "../problem/types.ts";

/** Starts happen at steps only, so an end is late by up to one step for each group before it. Steps are parts of the earliest end. */
const STEPS_A_GROUP = 400;

/** When each network ends. Throws if the order of the schedule never lets a network end. */
export function replay(problem: Problem, plan: Plan, { spans, endMs }: Timeline): number[] {
  const horizon = Math.max(...endMs);
  const step = Math.min(...endMs) / (STEPS_A_GROUP * spans.length);
  // Only the order is taken from the schedule, and no times.
  const queues = problem.accelerators.map((_, a) =>
    spans
      .filter(({ accelerator }) => accelerator === a)
      .map(({ network, group }) => ({ network, group })),
  );
  const begun = queues.map(() => 0);
  const finished = problem.networks.map(() => 0);
  const ended = problem.networks.map(() => Infinity);
  const runs: { network: number; group: number; on: number; left: number }[] = [];
  const arrives = problem.networks.map(({ after }) => (after.length === 0 ? 0 : Infinity));

  for (let now = 0; ended.some((one) => one === Infinity); now += step) {
    if (now > 2 * horizon) throw new Error("the schedule does not end when it is replayed");
    for (const [on, queue] of queues.entries()) {
      const next = queue[begun[on] ?? 0];
      if (!next || finished[next.network] !== next.group) continue;
      if (now < (arrives[next.network] ?? 0) + copying(problem, plan, next.network, next.group))
        continue;
      if (runs.some((one) => one.on === on)) continue;
      runs.push({ ...next, on, left: timeOf(problem, { ...next, on }) });
      begun[on] = (begun[on] ?? 0) + 1;
    }
    const demand = ({ network, group, on }: (typeof runs)[number]) =>
      problem.networks[network]?.groups[group]?.demand[on] ?? 0;
    const speeds = runs.map((one) => {
      const others = runs.filter((other) => other !== one).reduce((sum, x) => sum + demand(x), 0);
      return 1 / (problem.accelerators[one.on]?.slowdown(demand(one), others) ?? 1);
    });
    for (const [i, one] of runs.entries()) one.left -= step * (speeds[i] ?? 1);
    for (const one of runs.filter(({ left }) => left <= 0)) {
      runs.splice(runs.indexOf(one), 1);
      finished[one.network] = one.group + 1;
      arrives[one.network] = now + step;
      if (one.group + 1 < (problem.networks[one.network]?.groups.length ?? 0)) continue;
      ended[one.network] = now + step;
      for (const [n, { after }] of problem.networks.entries())
        if (after.includes(one.network))
          arrives[n] = Math.max(...after.map((m) => ended[m] ?? Infinity));
    }
  }
  return ended;
}

const timeOf = (
  { networks }: Problem,
  { network, group, on }: { network: number; group: number; on: number },
): number => networks[network]?.groups[group]?.timeMs[on] ?? Infinity;

function copying(
  { networks }: Problem,
  { assignment }: Plan,
  network: number,
  group: number,
): number {
  const on = assignment[network] ?? [];
  const groups = networks[network]?.groups ?? [];
  let total = 0;
  let crosses = false;
  for (const input of groups[group]?.inputs ?? [])
    if (on[input] !== on[group]) {
      crosses = true;
      total += groups[input]?.outMs[on[input] ?? -1] ?? 0;
    }
  return crosses ? total + (groups[group]?.inMs[on[group] ?? -1] ?? 0) : 0;
}
