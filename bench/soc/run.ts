// Costs and results of the planner of lab/soc: `npx tsx bench/soc/run.ts OUT.json [DATA]`. DATA is a folder
// with the public files of HaX-CoNN (layer_results.json, derived/layer_group_times_ms.csv, …); without it the part
// that needs them is left out, and the result says so. Times are CPU time of this process.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import {
  adapt,
  baselines,
  blind,
  cost,
  makespanMs,
  type Problem,
  parseProblem,
  solve,
  timeline,
} from "#soc";
import { exampleProblem } from "../../test/soc/example.ts";
import { cpuMs, LIMIT_MS, measureSizes, round, SIZES } from "./sizes.ts";

const [, , out, data] = process.argv;
const said = (command: string, ...args: string[]) =>
  execFileSync(command, args, { encoding: "utf8" }).trim();

const sizes = measureSizes(SIZES);

/** All rows of `cotenant-lab soc compare`. */
function compared(problem: Problem) {
  const found = solve(problem, cpuMs, LIMIT_MS);
  const unaware = solve(blind(problem, true), cpuMs, LIMIT_MS);
  const unawareMs = makespanMs(timeline(problem, unaware.plan));
  const rows = baselines(problem).map(({ name, predictedMs, timeline: taken }) => ({
    name,
    latencyMs: round(makespanMs(taken)),
    predictedMs: round(predictedMs),
    throughputPerS: round(-1000 * cost("throughput", taken.endMs)),
  }));
  return {
    rows,
    unaware: { latencyMs: round(unawareMs), predictedMs: round(makespanMs(unaware.timeline)) },
    cotenant: {
      latencyMs: round(makespanMs(found.timeline)),
      throughputPerS: round(-1000 * cost("throughput", found.timeline.endMs)),
      optimal: found.optimal,
      assignment: found.plan.assignment.map((one) => one.join("")),
    },
  };
}

const file = "bench/soc/googlenet-xavier.json";
const table2 = parseProblem(readFileSync(file, "utf8"), file);
const scenarios = {
  "1: two instances, throughput": { ...table2, objective: "throughput" as const },
  "2: two networks in parallel, latency": table2,
  "3: pipeline, two frames, throughput": pipelined(table2),
  "4: a pipeline beside a third network, latency": mixed(table2),
};
const rebuilt = Object.entries(scenarios).map(([name, problem]) => ({
  name,
  ...compared(problem),
}));
for (const { name, rows, cotenant } of rebuilt)
  console.log(
    name,
    rows.map((row) => `${row.name} ${row.latencyMs}`).join(", "),
    "cotenant",
    cotenant.latencyMs,
  );

/** Scenario 3: the second network reads what the first made; two frames are under way. */
function pipelined(problem: Problem): Problem {
  const [first, second] = problem.networks;
  if (!first || !second) throw new Error(`${file} has two networks`);
  return {
    ...problem,
    objective: "throughput",
    networks: [
      { ...first, name: "detect, frame 1" },
      { ...second, name: "track, frame 1", after: [0] },
      { ...first, name: "detect, frame 2" },
      { ...second, name: "track, frame 2", after: [2] },
    ],
    maxTransitions: 1,
  };
}

function mixed(problem: Problem): Problem {
  const [first, second] = problem.networks;
  if (!first || !second) throw new Error(`${file} has two networks`);
  return {
    ...problem,
    networks: [first, { ...second, after: [0] }, { ...second, name: "beside" }],
    maxTransitions: 2,
  };
}

/** How much the memory's limit, which is not published, decides; no group alone asks for more than 79 %. */
const contention = [79, 90, 100, 120, 200].map((limit) => {
  const text = readFileSync(file, "utf8").replace('"limit": 100', `"limit": ${limit}`);
  return { limit, ...compared(parseProblem(text, file)) };
});

const loops = adapt(
  [{ fromMs: 0, problem: exampleProblem({ networks: 3, groups: 20, maxTransitions: 2, seed: 1 }) }],
  10_000,
  {
    sliceMs(work) {
      const began = cpuMs();
      work();
      return cpuMs() - began;
    },
    beside: 1,
  },
);
const dynamic = {
  loops: loops.length,
  firstAtMs: round(loops[0]?.startMs ?? Number.NaN),
  latenciesMs: [...new Set(loops.map((one) => round(one.latencyMs)))],
  optimalFromLoop: loops.findIndex((one) => one.optimal),
};

const publicFiles =
  data !== undefined && existsSync(`${data}/derived/layer_group_times_ms.csv`)
    ? fromFiles(data)
    : "not given";

/** GoogleNet and AlexNet groups of the public files; demands are not in them, so those of Table 2 or none. */
function fromFiles(folder: string) {
  const times = readFileSync(`${folder}/derived/layer_group_times_ms.csv`, "utf8")
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => line.split(","));
  const of = (network: string) => times.filter(([name]) => name === network);
  const sum = (network: string, column: number) =>
    round(of(network).reduce((total, row) => total + Number(row[column]), 0));
  const [googlenet] = table2.networks;
  const groupsOf = (network: string) =>
    of(network).map(([, group = "", gpu, dla], i) => {
      const known = network === "googlenet" ? googlenet?.groups[i] : undefined;
      const ratio = Number(gpu) / Number(dla);
      const demand = known?.demand[0] ?? 60;
      return {
        name: group,
        timeMs: [Number(gpu), Number(dla)],
        demand: [demand, demand * ratio],
        outMs: known?.outMs ?? [0.05, 0.08],
        inMs: [0, 0],
        energyMj: [0, 0],
        inputs: i === 0 ? [] : [i - 1],
      };
    });
  const network = (name: string) => ({ name, after: [], groups: groupsOf(name) });
  const pair = (a: string, b: string): Problem => ({
    ...table2,
    networks: [network(a), network(b)],
  });
  return {
    totalsMs: {
      googlenet: { gpu: sum("googlenet", 2), dla: sum("googlenet", 3) },
      alexnet: { gpu: sum("alexnet", 2), dla: sum("alexnet", 3) },
    },
    pairs: [
      ["googlenet", "googlenet"],
      ["googlenet", "alexnet"],
      ["alexnet", "alexnet"],
    ].map(([a = "", b = ""]) => ({ pair: `${a} + ${b}`, ...compared(pair(a, b)) })),
  };
}

if (out !== undefined) {
  const result = {
    date: new Date().toISOString(),
    commit: said("git", "rev-parse", "HEAD"),
    uncommitted: said("git", "status", "--porcelain", "lab/soc", "bench/soc") !== "",
    command: `npx tsx bench/soc/run.ts ${out}${data === undefined ? "" : " DATA"}`,
    machine: {
      cpu: cpus()[0]?.model,
      cores: cpus().length,
      kernel: release(),
      node: process.version,
      note: "CPU time, other work on the machine",
    },
    sizes,
    scenarios: rebuilt,
    contention,
    dynamic,
    publicFiles,
  };
  writeFileSync(out, `${JSON.stringify(result, null, 1)}\n`);
}
