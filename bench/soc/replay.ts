// How far the replay of a schedule in small steps of time is from what was planned, by size:
// `npx tsx bench/soc/replay.ts OUT.json`. Made-up problems on two accelerators, up to two transitions.
import { makespanMs, replay, solve } from "#soc";
import { exampleProblem } from "../../test/soc/example.ts";
import { writeUntimed } from "../untimed.ts";
import { cpuMs, LIMIT_MS, round } from "./sizes.ts";

const [out] = process.argv.slice(2);

const SEEDS = 200;
const SIZES = [
  { networks: 1, groups: 1 },
  { networks: 1, groups: 2 },
  { networks: 2, groups: 1 },
  { networks: 2, groups: 2 },
  { networks: 2, groups: 4 },
  { networks: 3, groups: 3 },
] as const;

const sizes = SIZES.map((shape) => {
  const off = Array.from({ length: SEEDS }, (_, i) => {
    const problem = exampleProblem({ ...shape, maxTransitions: 2, seed: i + 1 });
    const { plan, timeline } = solve(problem, cpuMs, LIMIT_MS);
    return Math.max(...replay(problem, plan, timeline)) / makespanMs(timeline) - 1;
  });
  const result = {
    ...shape,
    problems: SEEDS,
    most: round(Math.max(...off)),
    least: round(Math.min(...off)),
  };
  console.log(JSON.stringify(result));
  return result;
});
writeUntimed(out, "soc-replay", "npx tsx bench/soc/replay.ts OUT.json", { sizes });
