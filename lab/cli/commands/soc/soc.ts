// Networks on several accelerators of one memory: which group of layers runs where, and who goes first.
import { command } from "#cli";
import { checkWritable, errors, orShipped, readGiven, usage, writeGiven } from "#core";
import {
  makespanMs,
  type Problem,
  parseProblem,
  picture,
  planDocument,
  type Solution,
  solve,
} from "#soc";
import { compare } from "./compare.ts";
import { groups } from "./groups.ts";
import { type Options, options } from "./options.ts";
import { plan } from "./plan.ts";
import { title, verdict } from "./text.ts";

/** After this time without output, a line says that the search goes on. */
const QUIET_MS = 2_000;

export const socCommand = command({
  name: "soc",
  summary: "plan concurrent networks on accelerators that share a memory, contention counted",
  options,
  positional: {
    name: "plan FILE | compare FILE | groups MODEL",
    doc:
      "FILE describes accelerators and networks (docs/guide/layer-mapping.md); compare sets the plan beside what else one could do; " +
      "groups cuts an ONNX model into groups of layers and says why there",
    atLeast: 1,
  },
  examples: [
    "cotenant-lab soc plan bench/soc/googlenet-xavier.json \\\n  --svg plan.svg",
    "cotenant-lab soc groups bench/soc/googlenet.onnx",
  ],
  async run(args) {
    const [verb = "", given, ...others] = args.positional;
    if (verb !== "plan" && verb !== "compare" && verb !== "groups")
      throw usage(`"soc" can't do "${verb}".`, "Known: plan, compare, groups.");
    if (given === undefined) throw errors.missingArgument(`soc ${verb}`, "a FILE");
    const file = orShipped(given);
    if (others[0] !== undefined) throw errors.strayArgument(`soc ${verb}`, others[0]);
    if (verb === "groups") return groups(file, args);
    for (const path of [args.svg, args.out]) if (path !== undefined) checkWritable(path);
    const problem = withLimits(parseProblem(readGiven(file, "description"), file), args);
    const solution = search(problem, args.seconds);
    if (args.svg !== undefined)
      writeGiven(
        args.svg,
        picture(problem, solution.timeline, `The last network ends after ${title(solution)}`),
      );
    if (args.out !== undefined)
      writeGiven(args.out, `${JSON.stringify(planDocument(problem, solution), null, 2)}\n`);
    return verb === "plan" ? await plan(problem, solution, args) : compare(problem, solution, args);
  },
});

function withLimits(problem: Problem, { objective, transitions: most }: Options): Problem {
  const count = most === "unlimited" ? Number.POSITIVE_INFINITY : Number(most);
  if (most !== undefined && most !== "unlimited" && !(Number.isInteger(count) && count >= 0))
    throw usage(`--transitions: "${most}" is no whole number and not "unlimited".`);
  return {
    ...problem,
    ...(objective === undefined ? {} : { objective }),
    ...(most === undefined ? {} : { maxTransitions: count }),
  };
}

function search(problem: Problem, seconds: number): Solution {
  let said = 0;
  return solve(
    problem,
    () => performance.now(),
    1000 * seconds,
    (best, elapsedMs) => {
      if (elapsedMs - said < QUIET_MS) return;
      said = elapsedMs;
      console.error(`soc: ${makespanMs(best.timeline).toFixed(3)} ms, ${verdict(best)}`);
    },
  );
}
