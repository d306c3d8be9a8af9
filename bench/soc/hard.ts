// The size that the planner does not prove, 3 x 20 groups at up to four transitions, after a minute beside Z3 with the
// same model and the same minute: `npx tsx bench/soc/hard.ts OUT.json`. The planner's minute is CPU time of this process,
// Z3's is time that passes; its CPU time is noted.
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { commitOf } from "#measure";
import { makespanMs, prove, provenBelow, replay, solve } from "#soc";
import { exampleProblem } from "../../test/soc/example.ts";
import { cpuMs, round } from "./sizes.ts";

const [, , out] = process.argv;
const LIMIT_MS = 60_000;
const clock = () => performance.now();

const runs = [];
for (const seed of [1, 2, 3, 4, 5]) {
  const problem = exampleProblem({ networks: 3, groups: 20, maxTransitions: 4, seed });
  const { plan, timeline, optimal, gap, nodes } = solve(problem, cpuMs, LIMIT_MS);
  const planMs = makespanMs(timeline);
  const fewer = solve({ ...problem, maxTransitions: 2 }, cpuMs, LIMIT_MS);
  const replayed = Math.max(...replay(problem, plan, timeline));
  const beganMs = cpuMs();
  const proof = await prove(problem, clock, LIMIT_MS);
  // In half percents of the planner's makespan, from half of it on.
  const claims = Array.from({ length: 100 }, (_, i) => (planMs * (100 + i)) / 200);
  const z3BoundMs = await provenBelow(problem, clock, LIMIT_MS, claims);
  const run = {
    seed,
    planMs: round(planMs),
    boundMs: round(planMs * (1 - gap)),
    optimal,
    gap: round(gap),
    nodes,
    replayOff: round(replayed / planMs - 1),
    transitions2Ms: round(makespanMs(fewer.timeline)),
    z3PlanMs: proof.makespanMs === undefined ? undefined : round(proof.makespanMs),
    z3Optimal: proof.optimal,
    z3BoundMs: z3BoundMs === undefined ? undefined : round(z3BoundMs),
    z3CpuMs: round(cpuMs() - beganMs),
  };
  runs.push(run);
  console.log(JSON.stringify(run));
}
if (out !== undefined) {
  const result = {
    version: 1,
    kind: "soc-hard",
    date: new Date().toISOString(),
    commit: commitOf("."),
    command: "npx tsx bench/soc/hard.ts OUT.json",
    machine: {
      cpu: cpus()[0]?.model,
      cores: cpus().length,
      node: process.version,
      note: "CPU time of one thread, other work on the machine",
    },
    limitMs: LIMIT_MS,
    runs,
  };
  writeFileSync(out, `${JSON.stringify(result, null, 1)}\n`);
}
