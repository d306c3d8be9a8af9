// How large a problem Z3 proves, and how long it takes: `npx tsx bench/soc/z3.ts OUT.json`. Given the planner's
// makespan it must find a plan as good by itself and prove that there is none better. CPU time of this process, with
// Z3's thread.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { makespanMs, OPTIMALITY_GAP, prove, solve } from "#soc";
import { exampleProblem } from "../../test/soc/example.ts";

const [, , out] = process.argv;
const cpuS = () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6;
const LIMIT_MS = 600_000;

const runs = [];
for (const [networks, groups] of [
  [2, 4],
  [2, 5],
  [2, 6],
  [3, 3],
] as const)
  for (const seed of [1, 2, 3, 4, 5]) {
    const problem = exampleProblem({ networks, groups, maxTransitions: 4, seed });
    const claimed = makespanMs(solve(problem, () => 0).timeline);
    const clock = () => performance.now();
    const began = cpuS();
    const proof = await prove(problem, clock, LIMIT_MS, claimed * (1 + OPTIMALITY_GAP));
    const off = (proof.makespanMs ?? Number.NaN) / claimed - 1;
    const took = Number((cpuS() - began).toPrecision(3));
    runs.push({ networks, groups, seed, optimal: proof.optimal, off, cpuS: took });
    console.log(
      `${networks} x ${groups}, seed ${seed}: ${proof.optimal ? `proven, off by ${off.toExponential(1)}` : "no proof"}, ${took} s`,
    );
  }
if (out !== undefined) {
  const result = {
    date: new Date().toISOString(),
    commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
    uncommitted:
      execFileSync("git", ["status", "--porcelain", "lab/soc"], { encoding: "utf8" }) !== "",
    command: `npx tsx bench/soc/z3.ts ${out}`,
    machine: {
      cpu: cpus()[0]?.model,
      cores: cpus().length,
      node: process.version,
      note: "CPU time, other work on the machine",
    },
    runs,
  };
  writeFileSync(out, `${JSON.stringify(result, null, 1)}\n`);
}
