// Every schedule in which starts happen at ends or arrivals of other groups, also if the accelerator idles meanwhile.
// Only for a handful of groups.
import { cost, type Plan, type Problem, transitionMs, transitions } from "#soc";
import { product } from "./brute.ts";

interface Run {
  readonly group: number;
  readonly stage: "moving" | "waiting" | "running" | "done";
  readonly leftMs: number;
  readonly endMs: number;
}

/** The least cost of any such schedule. Networks must not wait for each other. */
export function bestWithIdling(problem: Problem): number {
  const accelerators = problem.accelerators.map((_, a) => a);
  const assignments = product(
    problem.networks.map(({ groups }) => product(groups.map(() => accelerators))),
  ).filter((all) => all.every((one) => transitions(one) <= problem.maxTransitions));
  return Math.min(...assignments.map((assignment) => least(problem, assignment)));
}

function least(problem: Problem, assignment: Plan["assignment"]): number {
  const on = (n: number, { group }: Run) => assignment[n]?.[group] ?? -1;
  const groupOf = (n: number, { group }: Run) => problem.networks[n]?.groups[group];
  const enter = (n: number, group: number, now: number): Run => {
    if (group === problem.networks[n]?.groups.length)
      return { group, stage: "done", leftMs: 0, endMs: now };
    const leftMs = transitionMs(problem, assignment[n] ?? [], n, group);
    return { group, stage: leftMs > 0 ? "moving" : "waiting", leftMs, endMs: 0 };
  };

  const from = (runs: readonly Run[], now: number): number => {
    if (runs.every(({ stage }) => stage === "done"))
      return cost(
        problem.objective,
        runs.map(({ endMs }) => endMs),
      );
    const free = problem.accelerators
      .map((_, a) => a)
      .filter((a) => !runs.some((one, n) => one.stage === "running" && on(n, one) === a));
    const choices = free.map((a) => [
      undefined,
      ...runs.flatMap((one, n) => (one.stage === "waiting" && on(n, one) === a ? [n] : [])),
    ]);
    return Math.min(
      ...product(choices).map((starts) => {
        const begun = runs.map((one, n): Run => {
          const leftMs = groupOf(n, one)?.timeMs[on(n, one)] ?? Infinity;
          return starts.includes(n) ? { ...one, stage: "running", leftMs } : one;
        });
        return go(begun, now);
      }),
    );
  };

  const go = (runs: readonly Run[], now: number): number => {
    const demand = (one: Run, n: number) =>
      one.stage === "running" ? (groupOf(n, one)?.demand[on(n, one)] ?? 0) : 0;
    const total = runs.reduce((sum, one, n) => sum + demand(one, n), 0);
    const speeds = runs.map((one, n) => {
      if (one.stage === "moving") return 1;
      if (one.stage !== "running") return 0;
      const own = demand(one, n);
      return 1 / (problem.accelerators[on(n, one)]?.slowdown(own, total - own) ?? 1);
    });
    const active = runs.map(({ leftMs }, n) => (speeds[n] ? leftMs / (speeds[n] ?? 1) : Infinity));
    const step = Math.min(...active);
    if (step === Infinity) return Infinity;
    const then = runs.map((one, n): Run => {
      const leftMs = one.leftMs - step * (speeds[n] ?? 0);
      if (!speeds[n] || leftMs > 1e-9) return { ...one, leftMs };
      if (one.stage === "moving") return { ...one, stage: "waiting", leftMs: 0 };
      return enter(n, one.group + 1, now + step);
    });
    return from(then, now + step);
  };
  return from(
    problem.networks.map((_, n) => enter(n, 0, 0)),
    0,
  );
}
