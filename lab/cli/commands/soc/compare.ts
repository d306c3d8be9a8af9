// `cotenant-lab soc compare`: the plan beside the alternatives.
import { percent, table } from "#core";
import {
  baselines,
  blind,
  cost,
  makespanMs,
  type Problem,
  type Solution,
  solve,
  timeline,
  transitions,
} from "#soc";
import type { Options } from "./options.ts";
import { title } from "./text.ts";

export function compare(problem: Problem, solution: Solution, args: Options): number {
  const blindBest = solve(blind(problem, true), () => performance.now(), 1000 * args.seconds);
  const all = [
    ...baselines(problem),
    {
      name: "best without contention",
      plan: blindBest.plan,
      predictedMs: makespanMs(blindBest.timeline),
      timeline: timeline(problem, blindBest.plan),
    },
    {
      name: solution.optimal ? "cotenant, optimal" : "cotenant, best so far",
      plan: solution.plan,
      predictedMs: makespanMs(solution.timeline),
      timeline: solution.timeline,
    },
  ].map(({ name, plan: one, predictedMs, timeline: found }) => ({
    name,
    predictedMs,
    latencyMs: makespanMs(found),
    misprediction: makespanMs(found) / predictedMs - 1,
    throughputPerS: -1000 * cost("throughput", found.endMs),
    transitions: one.assignment.map(transitions),
    tooManyTransitions: one.assignment.some((n) => transitions(n) > problem.maxTransitions),
  }));
  if (args.json) {
    console.log(
      JSON.stringify(
        { version: 1, objective: problem.objective, gap: solution.gap, rows: all },
        null,
        2,
      ),
    );
    return 0;
  }
  const rows = all.map((one) => [
    one.name,
    one.latencyMs.toFixed(3),
    one.predictedMs.toFixed(3),
    percent(one.misprediction),
    one.throughputPerS.toFixed(1),
    `${one.transitions.join("+")}${one.tooManyTransitions ? " *" : ""}`,
  ]);
  const header = ["", "latency ms", "own idea ms", "mispredicted", "sum of 1/s", "transitions"];
  for (const line of table([header, ...rows], 1)) console.log(line);
  if (all.some((one) => one.tooManyTransitions))
    console.log("* more transitions than allowed: what it maps does not know a limit");
  console.log(`\n${title(solution)}`);
  return 0;
}
