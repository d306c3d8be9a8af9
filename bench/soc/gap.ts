// Parts of the gap of 3 networks x 20 groups with up to 4 transitions: `npx tsx bench/soc/gap.ts OUT.json`. For each
// problem, the best plan after 5 s of search, and the bound before any decision: for all assignments, and for the
// assignment of that plan alone, whose best order the search then proves.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { solve } from "#soc";
import { exampleProblem } from "../../test/soc/example.ts";
import { assigned } from "./flat-problem.ts";
import { cpuMs, round } from "./sizes.ts";

const SEEDS = [1, 2, 3, 4, 5];
const SEARCH_MS = 5_000;

const problems = SEEDS.map((seed) => {
  const problem = exampleProblem({ networks: 3, groups: 20, maxTransitions: 4, seed });
  const { cost, plan, idlingGap } = solve(problem, cpuMs, SEARCH_MS, () => {});
  const ordered = solve(assigned(problem, plan.assignment), cpuMs, SEARCH_MS, () => {});
  const found = {
    seed,
    planMs: round(cost),
    boundMs: round(cost * (1 - idlingGap)),
    assignedBoundMs: round(ordered.cost * (1 - ordered.idlingGap)),
    assignedBestMs: round(ordered.cost),
    assignedProven: ordered.optimal,
    assignedNodes: ordered.nodes,
  };
  console.log(JSON.stringify(found));
  return found;
});

const [, , out = ""] = process.argv;
const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim();
const command = "npx tsx bench/soc/gap.ts OUT.json";
const made = new Date().toISOString();
writeFileSync(out, `${JSON.stringify({ version: 1, made, commit, command, problems })}\n`);
