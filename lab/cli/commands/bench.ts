// Measures, and makes tables and charts of what was measured.

import { readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { type GpuKind, openNvml } from "#agent";
import {
  type BenchOptions,
  type BenchResult,
  bench,
  chart,
  compareLabels,
  jobNames,
  latest,
  markdownMatrix,
  markdownTable,
  type Outcome,
  parseResult,
  readScenario,
  terminalMatrix,
  terminalTable,
} from "#bench";
import { type Args, command, flag, json, list, number, text } from "#cli";
import { ownUid } from "#client";
import {
  checkWritable,
  cotenantProgram,
  errors,
  interposer,
  packageRoot,
  paintFor,
  progressOf,
  readGiven,
  softGpuFolder,
  temporaryFolder,
  UserError,
  usage,
  writeGiven,
} from "#core";
import { arrangementHelp, arrangementNames } from "#policies";

const more = { min: 1, whole: true };

const options = {
  load: number(
    "L",
    undefined,
    "requests a second, as a part of what the high job could serve alone: 0 to 1",
  ),
  arrangement: list(
    "NAME",
    `instead of the scenario's, and with --from of those measured; --names lists them; ${arrangementHelp}`,
  ),
  slo: list(
    "p99=TIME|slowdown=PERCENT",
    "the objective that the high job states, as after run --slo",
  ),
  profiles: text(
    "DIR",
    undefined,
    "profiles of jobs on this GPU by the jobs' names, for policies that look at single kernels",
  ),
  rounds: number("N", undefined, "rounds that count", more),
  requests: number("N", undefined, "requests per arrangement, over all rounds", more),
  seconds: number("S", undefined, "length of a window, at most", { min: 1 }),
  learn: number(
    "S",
    undefined,
    "length of the window before the first round under a policy that learns; list such arrangements last",
    { min: 1 },
  ),
  gpu: text("auto|soft|INDEX", "auto", "auto: the first NVIDIA GPU; soft: the software GPU"),
  out: text("FILE", undefined, "write the result here; NAME-DATE.json if not given"),
  raw: text("FILE", undefined, "write the time of every request and iteration here"),
  chart: text("FILE", undefined, "write an SVG: slowdown against retained throughput"),
  matrix: flag("print one line a pair instead of one table a pair"),
  markdown: flag("print tables in Markdown"),
  from: flag("don't measure: the arguments are result files"),
  latest: flag("with --from: of each arrangement only what was measured on its last day"),
  label: flag(
    "instead, compare what a node of a cluster would report of each pair HIGH+BEST-EFFORT with what its jobs report",
  ),
  names: flag("list scenarios, jobs and arrangements"),
  commit: text("HASH", undefined, "of the code measured, where there is no git to ask"),
  note: text("TEXT", "", "anything else a reader of the result must know"),
  json,
};

type Options = Args<typeof options>;

export const benchCommand = command({
  name: "bench",
  summary:
    "measure what sharing costs and gains: solo and shared, interleaved, in several arrangements",
  options,
  positional: {
    name: "SCENARIO",
    doc: "a JSON file, a name under bench/scenarios, or HIGH+BEST-EFFORT from bench/jobs.json",
    atLeast: 0,
  },
  examples: [
    "cotenant-lab bench synthetic --gpu soft",
    "cotenant-lab bench bert-graph+gpt2-train --load 0.2",
    "cotenant-lab bench --from result.json --chart chart.svg",
  ],
  async run(args) {
    if (args.names) return listNames();
    if (args.label) return label(args);
    const measured = args.from ? undefined : await measure(args);
    const results = measured ? [measured.result] : readResults(args);
    if (results.length === 0) throw errors.missingArgument("bench", "result files after --from");
    // The result is printed before it is written, so that it is not lost when the disk is full.
    if (args.json) console.log(JSON.stringify(args.from ? results : results[0], null, 2));
    else console.log(tableOf(results, args));
    if (measured) keep(measured, args);
    if (args.chart !== undefined) writeGiven(args.chart, chart(results));
    return measured?.complete === false ? 1 : 0;
  },
});

function tableOf(results: readonly BenchResult[], { matrix, markdown }: Options): string {
  if (markdown) return matrix ? markdownMatrix(results) : markdownTable(results);
  const { columns } = process.stdout;
  const paint = paintFor(process.stdout);
  return matrix ? terminalMatrix(results, columns, paint) : terminalTable(results, columns, paint);
}

/** The results of the files. --latest and --arrangement leave some of them out. */
function readResults({ positional, latest: newest, arrangement: wanted }: Options): BenchResult[] {
  // A file that is named twice counts once.
  const files = new Map(positional.map((path) => [resolve(path), path]));
  const all = [...files.values()].map(readResult);
  const known = new Set(all.flatMap(({ cells }) => cells.map((cell) => cell.arrangement)));
  const unknown = wanted.find((name) => !known.has(name));
  if (unknown !== undefined)
    throw usage(`No result has the arrangement "${unknown}": they have ${[...known].join(", ")}.`);
  const results = newest ? latest(all) : all;
  if (wanted.length === 0) return results;
  const isShown = ({ arrangement }: { arrangement: string }) =>
    ["solo", "alone", ...wanted].includes(arrangement);
  return results.map((result) => ({ ...result, cells: result.cells.filter(isShown) }));
}

const folders = () => ({
  catalogue: join(packageRoot(), "bench/jobs.json"),
  scenarios: join(packageRoot(), "bench/scenarios"),
});

async function measure(args: Options): Promise<Outcome> {
  const [given, ...others] = args.positional;
  if (given === undefined) throw errors.missingArgument("bench", "a SCENARIO");
  if (others[0] !== undefined) throw errors.strayArgument("bench", others[0]);
  const scenario = scenarioOf(given, args);
  for (const path of [args.out ?? `${scenario.name}.json`, args.raw, args.chart])
    if (path !== undefined) checkWritable(path);
  return withOptions(args, (options) => bench(scenario, options));
}

const scenarioOf = (given: string, args: Options) =>
  readScenario(
    given,
    {
      ...args,
      arrangements: args.arrangement.length > 0 ? args.arrangement : undefined,
      slo: args.slo.length > 0 ? args.slo : undefined,
    },
    folders(),
  );

/** The result is written with what was compared before a failure. */
async function label(args: Options): Promise<number> {
  const { out = "label.json", positional } = args;
  const scenarios = positional.map((given) => scenarioOf(given, args));
  checkWritable(out);
  const result = await withOptions(args, (options) => compareLabels(scenarios, options));
  writeGiven(out, `${JSON.stringify(result, null, 1)}\n`);
  console.log(args.json ? JSON.stringify(result, null, 2) : result.table);
  if (result.failed !== undefined) throw new UserError("JOB_FAILED", result.failed);
  return 0;
}

async function withOptions<T>(
  args: Options,
  run: (options: BenchOptions) => Promise<T>,
): Promise<T> {
  // Checks now what would otherwise be missing when the first process starts.
  interposer(process.env);
  process.env.COTENANT_CONFIG = ""; // what the bench starts has the options that it is given, and no others
  const { kind, index } = gpuChosen(args.gpu);
  const directory = temporaryFolder("bench");
  const stop = new AbortController();
  const shown = progressOf("bench");
  // Not `once`: a second signal would end this process and leave its jobs on the GPU.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => stop.abort());
  try {
    return await run({
      directory,
      gpu: kind,
      gpuIndex: index,
      stop: stop.signal,
      uid: ownUid(),
      cotenant: [cotenantProgram().command, ...cotenantProgram().args],
      workloads: join(packageRoot(), "workloads"),
      softGpuFolder,
      codeFolder: packageRoot(),
      commit: args.commit,
      note: args.note,
      command: ["cotenant-lab", ...process.argv.slice(2)].join(" "),
      say: (line) => shown.note(line),
      step: (line, leftS) => shown.step(line, leftS),
    });
  } finally {
    shown.end();
    rmSync(directory, { recursive: true, force: true });
  }
}

function keep({ result, raw }: Outcome, args: Options): void {
  const at = result.date.slice(0, 16).replace(":", "").replace("T", "-");
  const out = args.out ?? `${result.scenario.name}-${at}.json`;
  writeGiven(out, `${JSON.stringify(result)}\n`);
  if (args.raw !== undefined) writeGiven(args.raw, `${JSON.stringify(raw)}\n`);
  console.error(`bench: the result is in ${out}`);
}

function gpuChosen(given: string): { readonly kind: GpuKind; readonly index: number } {
  if (given === "soft") return { kind: "soft", index: 0 };
  if (given !== "auto" && !/^\d+$/.test(given))
    throw usage(`--gpu: "${given}" is neither auto, soft nor the number of a GPU.`);
  const index = given === "auto" ? 0 : Number(given);
  const count = openNvml().read().length;
  if (index >= count) throw usage(`--gpu: there is no GPU ${index}; the last one is ${count - 1}.`);
  return { kind: "nvidia", index };
}

const readResult = (path: string): BenchResult => parseResult(readGiven(path, "result"), path);

function listNames(): number {
  const { catalogue, scenarios } = folders();
  const files = readdirSync(scenarios).filter((file) => file.endsWith(".json"));
  console.log(`scenarios     ${files.map((file) => file.slice(0, -5)).join(", ")}`);
  console.log(`jobs          ${jobNames(catalogue).join(", ")}`);
  console.log(`arrangements  ${arrangementNames.join(", ")}`);
  return 0;
}
