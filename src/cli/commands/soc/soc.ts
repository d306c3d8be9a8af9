// Networks on several accelerators of one memory: which group of layers runs where, and who goes first.
import { readFileSync } from "node:fs";
import { errors, usage } from "#core";
import {
  blind,
  cost,
  groupLayers,
  makespanMs,
  OPTIMALITY_GAP,
  type Plan,
  type Problem,
  parseProblem,
  picture,
  planDocument,
  prove,
  readOnnx,
  rivals,
  type Solution,
  solve,
  timeline,
  transitions,
} from "#soc";
import { type Args, choice, command, flag, json, list, number, text } from "../../command.ts";
import { checkWritable, readGiven, writeGiven } from "../../../core/files.ts";
import { percent, table } from "../../../core/print.ts";

const options = {
  objective: choice(
    ["latency", "throughput"],
    undefined,
    "instead of the file's; latency: the longest latency as short as possible; throughput: the sum of 1 / latency as large as possible",
  ),
  transitions: text(
    "N|unlimited",
    undefined,
    "instead of the file's: how often a network may change accelerators, at most",
  ),
  seconds: number(
    "S",
    60,
    "how long to search; then comes the best plan so far, and how far it may be from the best",
  ),
  svg: text("FILE", undefined, "write a picture of the timeline"),
  out: text("FILE", undefined, "plan: write the plan as JSON, to be carried out"),
  z3: flag("plan: ask Z3, too, which knows nothing of our search; for a dozen groups or fewer"),
  without: list("ACCELERATOR=OP,…", "groups: operators that an accelerator can't run"),
  json,
};

type Given = Args<typeof options>;

/** After this long without a word, say that something is going on. */
const QUIET_MS = 2_000;

export const socCommand = command({
  name: "soc",
  summary: "plan concurrent networks on accelerators that share a memory, contention counted",
  options,
  positional: {
    name: "plan FILE | compare FILE | groups MODEL",
    doc:
      "FILE describes accelerators and networks (docs/soc.md); compare sets the plan beside what else one could do; " +
      "groups cuts an ONNX model into groups of layers and says why there",
    atLeast: 1,
  },
  examples: [
    "cotenant soc plan bench/soc/googlenet-xavier.json \\\n  --svg plan.svg",
    "cotenant soc groups bench/soc/googlenet.onnx",
  ],
  async run(args) {
    const [verb = "", file, ...others] = args.positional;
    if (verb !== "plan" && verb !== "compare" && verb !== "groups")
      throw usage(`"soc" can't do "${verb}".`, "Known: plan, compare, groups.");
    if (file === undefined) throw errors.missingArgument(`soc ${verb}`, "a FILE");
    if (others[0] !== undefined) throw errors.strayArgument(`soc ${verb}`, others[0]);
    if (verb === "groups") return groups(file, args);
    for (const path of [args.svg, args.out]) if (path !== undefined) checkWritable(path);
    const problem = limited(parseProblem(readGiven(file, "description"), file), args);
    const solution = search(problem, args.seconds);
    if (args.svg !== undefined)
      writeGiven(args.svg, picture(problem, solution.timeline, title(solution)));
    if (args.out !== undefined)
      writeGiven(args.out, `${JSON.stringify(planDocument(problem, solution), null, 2)}\n`);
    return verb === "plan" ? await plan(problem, solution, args) : compare(problem, solution, args);
  },
});

/** As a table, or with --json as the groups of a network in which the times are to be filled in. */
function groups(file: string, args: Given): number {
  const found = groupLayers(
    readOnnx(readBytes(file, "model"), file),
    new Map(args.without.map(cannot)),
  );
  if (args.json) {
    const network = found.map(({ name, why, unsupported }) => ({
      name,
      timeMs: Object.fromEntries(unsupported.map(({ accelerator }) => [accelerator, null])),
      demand: {},
      why,
    }));
    console.log(JSON.stringify({ name: file, groups: network }, null, 2));
    return 0;
  }
  const rows = found.map(({ name, layers, elements, unsupported, why }) => [
    name,
    unsupported.map(({ accelerator, layer }) => `not ${accelerator}: ${layer}`).join(", "),
    why,
    `${layers.length}`,
    elements === undefined ? "-" : `${elements}`,
  ]);
  const header = ["group", "can't run on", "why it ends there", "layers", "elements out"];
  for (const line of table([header, ...rows], 3)) console.log(line);
  return 0;
}

function cannot(given: string): [string, ReadonlySet<string>] {
  const [accelerator, ops] = given.split("=");
  if (!accelerator || !ops) throw usage(`--without: "${given}" is not ACCELERATOR=OP,OP.`);
  return [accelerator, new Set(ops.split(","))];
}

function readBytes(path: string, what: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch {
    throw usage(`The ${what} ${path} can't be read.`);
  }
}

function limited(problem: Problem, { objective, transitions: most }: Given): Problem {
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

const verdict = ({ optimal, gap }: Solution): string =>
  optimal ? "optimal" : `best so far, within ${percent(gap)} of the best`;

const title = (solution: Solution): string =>
  `${makespanMs(solution.timeline).toFixed(3)} ms, ${verdict(solution)}`;

async function plan(problem: Problem, solution: Solution, args: Given): Promise<number> {
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

function compare(problem: Problem, solution: Solution, args: Given): number {
  const blindBest = solve(blind(problem, true), () => performance.now(), 1000 * args.seconds);
  const all = [
    ...rivals(problem),
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
