// Computes the timeline of a plan. There is one rule: a group starts as soon as its inputs are ready and its
// accelerator is free. If several wait for one accelerator, the network with the highest priority in the plan goes
// first. Progress is summed over intervals in which no group starts or ends: a group of t ms is done when the sum of
// interval / slowdown is t.
import type { Piece, Plan, Problem, Span, Timeline } from "../problem/types.ts";

/** Events less than a nanosecond apart count as one, so that rounding does not decide which group goes first. */
export const SAME_MOMENT_MS = 1e-6;

type Stage = "blocked" | "moving" | "waiting" | "running" | "done";

interface Runner {
  readonly network: number;
  stage: Stage;
  group: number;
  accelerator: number;
  /** Time left of the transition, or of the group in time alone. */
  leftMs: number;
  readyMs: number;
  startMs: number;
  pieces: Piece[];
}

/** Throws if a group is on an accelerator that cannot run it, which is a bug of the caller. */
export function timeline(problem: Problem, plan: Plan): Timeline {
  const runners = problem.networks.map((_, network): Runner => {
    const at = { group: -1, accelerator: -1, readyMs: 0, startMs: 0, leftMs: 0 };
    return { network, stage: "blocked", pieces: [], ...at };
  });
  const spans: Span[] = [];
  const endMs: number[] = problem.networks.map(() => 0);
  let now = 0;

  const advance = (runner: Runner) => {
    runner.group++;
    const { group, network } = runner;
    runner.accelerator = plan.assignment[network]?.[group] ?? -1;
    if (group === problem.networks[network]?.groups.length) {
      runner.stage = "done";
      endMs[network] = now;
    } else {
      runner.stage = "moving";
      runner.leftMs = transitionMs(problem, plan.assignment[network] ?? [], network, group);
      if (runner.leftMs < SAME_MOMENT_MS) arrive(runner);
    }
  };
  const arrive = (runner: Runner) => {
    runner.stage = "waiting";
    runner.readyMs = now;
  };
  const start = (runner: Runner) => {
    runner.stage = "running";
    runner.startMs = now;
    runner.pieces = [];
    const { network, group, accelerator } = runner;
    runner.leftMs = problem.networks[network]?.groups[group]?.timeMs[accelerator] ?? Infinity;
    if (!Number.isFinite(runner.leftMs))
      throw new Error(`group ${group} of network ${network} can't run on ${accelerator}`);
  };
  const end = (runner: Runner) => {
    const { network, group, accelerator, readyMs, startMs, pieces } = runner;
    spans.push({ network, group, accelerator, readyMs, startMs, endMs: now, pieces });
    advance(runner);
  };

  for (;;) {
    release(problem, runners, advance);
    for (const [accelerator] of problem.accelerators.entries()) {
      if (runners.some((one) => one.stage === "running" && one.accelerator === accelerator))
        continue;
      const next = plan.priority[accelerator]?.find((network) => {
        const one = runners[network];
        return one?.stage === "waiting" && one.accelerator === accelerator;
      });
      const first = next === undefined ? undefined : runners[next];
      if (first) start(first);
    }

    const running = runners.filter((one) => one.stage === "running");
    const moving = runners.filter((one) => one.stage === "moving");
    if (running.length + moving.length === 0) break;
    const demands = running.map(
      ({ network, group, accelerator }) =>
        problem.networks[network]?.groups[group]?.demand[accelerator] ?? 0,
    );
    const total = demands.reduce((sum, one) => sum + one, 0);
    const slowdowns = running.map(({ accelerator }, i) => {
      const own = demands[i] ?? 0;
      const others = running.length === 1 ? 0 : total - own;
      return problem.accelerators[accelerator]?.slowdown(own, others) ?? 1;
    });
    const step = Math.min(
      ...moving.map((one) => one.leftMs),
      ...running.map((one, i) => one.leftMs * (slowdowns[i] ?? 1)),
    );
    const from = now;
    now += step;
    for (const [i, one] of running.entries()) {
      const slowdown = slowdowns[i] ?? 1;
      one.leftMs -= step / slowdown;
      one.pieces.push({ fromMs: from, toMs: now, slowdown });
    }
    for (const one of moving) one.leftMs -= step;
    for (const one of running) if (one.leftMs < SAME_MOMENT_MS) end(one);
    for (const one of moving) if (one.leftMs < SAME_MOMENT_MS) arrive(one);
  }
  return { spans: spans.sort((a, b) => a.startMs - b.startMs), endMs };
}

/** Begins networks whose predecessors are done. */
function release(problem: Problem, runners: readonly Runner[], begin: (one: Runner) => void) {
  for (const one of runners) {
    const after = problem.networks[one.network]?.after ?? [];
    if (one.stage === "blocked" && after.every((before) => runners[before]?.stage === "done"))
      begin(one);
  }
}

/** The time before `group` in which each of its inputs is moved out of another accelerator and into this one. */
export function transitionMs(
  problem: Problem,
  assignment: readonly number[],
  network: number,
  group: number,
): number {
  const groups = problem.networks[network]?.groups ?? [];
  const to = assignment[group] ?? -1;
  const foreign = (groups[group]?.inputs ?? []).filter((input) => assignment[input] !== to);
  if (foreign.length === 0) return 0;
  const out = foreign.map((input) => groups[input]?.outMs[assignment[input] ?? -1] ?? 0);
  return out.reduce((sum, one) => sum + one, groups[group]?.inMs[to] ?? 0);
}

export const makespanMs = ({ endMs }: Timeline): number => Math.max(0, ...endMs);
