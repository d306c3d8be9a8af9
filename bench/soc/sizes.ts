// How long the planner takes for made-up problems of several sizes: `npx tsx bench/soc/sizes.ts OUT.json [SIZE…]`, such as
// 3x10. Times are CPU time of this process. run.ts measures them too, with all else.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { makespanMs, replay, solve } from "#soc";
import { exampleProblem } from "../../test/soc/example.ts";

export const cpuMs = () => process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000;
export const round = (value: number) => Number(value.toPrecision(6));

const SEEDS = [1, 2, 3, 4, 5];
interface Size {
  readonly networks: number;
  readonly groups: number;
  readonly accelerators?: 3;
  readonly maxTransitions: number;
  /** CPU ms. */
  readonly target: number;
}
export const SIZES: readonly Size[] = [
  { networks: 2, groups: 10, maxTransitions: 4, target: 1_000 },
  { networks: 2, groups: 30, maxTransitions: 4, target: 10_000 },
  { networks: 3, groups: 20, maxTransitions: 2, target: 30_000 },
  { networks: 3, groups: 10, accelerators: 3, maxTransitions: 4, target: 30_000 },
  { networks: 3, groups: 20, maxTransitions: 4, target: 30_000 },
];
/** Search no longer than this, CPU ms. */
export const LIMIT_MS = 40_000;

export function measureSizes(sizes: readonly Size[]) {
  return sizes.flatMap(({ target, ...shape }) =>
    SEEDS.map((seed) => {
      const problem = exampleProblem({ ...shape, seed });
      let firstMs: number | undefined;
      const began = cpuMs();
      const found = solve(problem, cpuMs, LIMIT_MS, (_, elapsed) => {
        firstMs ??= elapsed;
      });
      const totalMs = cpuMs() - began;
      const replayed = Math.max(...replay(problem, found.plan, found.timeline));
      const { networks, groups, maxTransitions, accelerators = 2 } = shape;
      console.log(
        `${networks} x ${groups}, ${maxTransitions}, ${accelerators} accelerators: first ${firstMs?.toFixed(1)} ms, ${found.optimal ? "proven" : `stopped, gap ${found.gap},`} ${totalMs.toFixed(0)} ms, ${found.nodes} nodes`,
      );
      return {
        ...shape,
        seed,
        firstMs: round(firstMs ?? totalMs),
        totalMs: round(totalMs),
        targetMs: target,
        nodes: found.nodes,
        optimal: found.optimal,
        gap: round(found.gap),
        latencyMs: round(makespanMs(found.timeline)),
        replayOff: round(replayed / makespanMs(found.timeline) - 1),
      };
    }),
  );
}

if (process.argv[1] === import.meta.filename) {
  const [, , out = "", ...wanted] = process.argv;
  const some = SIZES.filter(
    ({ networks, groups }) => wanted.length === 0 || wanted.includes(`${networks}x${groups}`),
  );
  const sizes = measureSizes(some);
  const said = {
    version: 1,
    made: new Date().toISOString(),
    machine: `${cpus()[0]?.model} x ${cpus().length}, shared with much other work; CPU time`,
    node: process.version,
    commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
    command: `npx tsx bench/soc/sizes.ts OUT.json ${wanted.join(" ")}`.trim(),
    sizes,
  };
  writeFileSync(out, `${JSON.stringify(said)}\n`);
}
