// `cotenant-lab soc plan`: the best plan found.
import { table } from "#core";
import {
  makespanMs,
  OPTIMALITY_GAP,
  type Plan,
  type Problem,
  planDocument,
  prove,
  type Solution,
} from "#soc";
import type { Options } from "./options.ts";
import { title } from "./text.ts";

export async function plan(problem: Problem, solution: Solution, args: Options): Promise<number> {
  const proof = args.z3
    ? await prove(
        problem,
        () => performance.now(),
        1000 * args.seconds,
        makespanMs(solution.timeline) * (1 + OPTIMALITY_GAP),
      )
    : undefined;
  if (args.json) {
    const document = planDocument(problem, solution);
    console.log(JSON.stringify(proof ? { ...document, z3: proof } : document, null, 2));
    return 0;
  }
  const rows = problem.networks.map(({ name }, n) => [
    name,
    where(problem, solution.plan, n),
    `${(solution.timeline.endMs[n] ?? 0).toFixed(3)}`,
  ]);
  console.log(`${title(solution)}\n`);
  for (const line of table([["network", "groups on", "ends at ms"], ...rows], 2)) console.log(line);
  console.log();
  for (const [a, { name }] of problem.accelerators.entries())
    console.log(
      `${name}: first ${(solution.plan.priority[a] ?? []).map((n) => problem.networks[n]?.name).join(", then ")}`,
    );
  if (proof)
    console.log(
      proof.makespanMs === undefined
        ? "Z3: no answer in the time given"
        : `Z3: ${proof.makespanMs.toFixed(3)} ms, ${proof.optimal ? "optimal" : "out of time"}`,
    );
  return 0;
}

/** Runs of groups: "0-9..81-94 gpu, 95-109 dla". */
function where(problem: Problem, { assignment }: Plan, network: number): string {
  const on = assignment[network] ?? [];
  const groups = problem.networks[network]?.groups ?? [];
  const starts = on.flatMap((a, i) => (i === 0 || a !== on[i - 1] ? [i] : []));
  return starts
    .map((from, run) => {
      const to = (starts[run + 1] ?? on.length) - 1;
      const names = [groups[from]?.name, ...(to > from ? [groups[to]?.name] : [])].join("..");
      return `${names} ${problem.accelerators[on[from] ?? -1]?.name}`;
    })
    .join(", ");
}
