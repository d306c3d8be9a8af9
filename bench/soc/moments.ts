// Whether prices that change over time would close the gap of 3 networks x 20 groups with up to 4 transitions:
// `npx tsx bench/soc/moments.ts OUT.json`; needs python3 with highspy and numpy. For each problem, and for it with the
// assignment of the best plan known: the bound for 1 to 12 moments, and with the moments that each group's place in its
// network allows. Also by how much the dearest assignment is dearer than the cheapest, at the best prices.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Problem, solve } from "#soc";
import { exampleProblem } from "../../test/soc/example.ts";
import { assigned, flatProblem } from "./flat-problem.ts";
import { cpuMs, round } from "./sizes.ts";

const SEEDS = [1, 2, 3];
const SEARCH_MS = 5_000;
/** Moments without, and with, the times that groups' places allow. */
const FREE = [1, 4, 12];
const PLACED = [8, 16];

const problems = SEEDS.map((seed) => {
  const problem = exampleProblem({ networks: 3, groups: 20, maxTransitions: 4, seed });
  const { cost, plan } = solve(problem, cpuMs, SEARCH_MS, () => {});
  return { seed, cost, problem, fixed: assigned(problem, plan.assignment) };
});

const asked = (problem: Problem, cost: number) => ({
  problem: flatProblem(problem),
  asked: [...FREE.map((count) => [count, null]), ...PLACED.map((count) => [count, cost])],
});
// HiGHS names itself on a line before.
const lines = execFileSync("python3", [join(import.meta.dirname, "moments.py")], {
  input: JSON.stringify(
    problems.flatMap(({ problem, fixed, cost }) => [asked(problem, cost), asked(fixed, cost)]),
  ),
  encoding: "utf8",
})
  .trim()
  .split("\n");
const found = JSON.parse(lines.at(-1) ?? "") as {
  readonly bounds: number[];
  readonly spread?: number;
}[];

const titles = [
  ...FREE.map((count) => `${count} moments`),
  ...PLACED.map((count) => `${count}, placed`),
];
const rows = problems.map(({ seed, cost }, i) => {
  const named = (values: readonly number[] = []) =>
    Object.fromEntries(titles.map((title, k) => [title, round(values[k] ?? Number.NaN)]));
  return {
    seed,
    planMs: round(cost),
    boundMs: named(found[2 * i]?.bounds),
    assignedBoundMs: named(found[2 * i + 1]?.bounds),
    spreadMs: round(found[2 * i]?.spread ?? Number.NaN),
  };
});
for (const row of rows) console.log(JSON.stringify(row));

const [, , out = ""] = process.argv;
const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim();
const command = "npx tsx bench/soc/moments.ts OUT.json";
const made = new Date().toISOString();
writeFileSync(out, `${JSON.stringify({ version: 1, made, commit, command, problems: rows })}\n`);
