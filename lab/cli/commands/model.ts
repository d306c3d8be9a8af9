// Predicts what the bench measures. The rounds, figures and tables are the same, on a modelled GPU, from profiles.

import { join } from "node:path";
import {
  type BenchResult,
  chart,
  type Modelled,
  markdownTable,
  model,
  modelScenario,
  readScenario,
  terminalTable,
} from "#bench";
import { type Args, choice, command, flag, json, list, number, place, text } from "#cli";
import {
  checkWritable,
  errors,
  isFile,
  type Progress,
  packageRoot,
  paintFor,
  progressOf,
  readGiven,
  usage,
  writeGiven,
} from "#core";
import { modelledGpus, modelOf } from "#gpu";
import { arrangementHelp } from "#policies";
import { checkGpu, ProfileStore, readProfileFile } from "#profile";

/** A round of a pair takes a second of CPU or more, and 20 make an interval narrow. */
const ROUNDS = { min: 1, max: 1000, whole: true };
/** Limit of requests for each arrangement: they are kept in memory. */
const REQUESTS = { min: 1, max: 10_000_000, whole: true };
const SEEDS = { min: 0, max: 1_000_000, whole: true };

/** Climbing takes 300 bursts for each level. */
const LEARN_S = 30;

const options = {
  profiles: place("DIR", undefined, "the folder in which profiles given by name are"),
  gpu: choice(
    modelledGpus,
    undefined,
    "the GPU to model; by default the one that the profiles come from. One with other SMs is refused; between " +
      "GPUs that differ in less, kernels keep their times",
  ),
  load: number(
    "L",
    undefined,
    "requests a second, as a part of what the high job could serve alone: 0 to 1",
  ),
  arrivals: text(
    "KIND",
    undefined,
    "where profiles are named: poisson (the default), uniform, bursty, closed, steps:10s@0.1,10s@0.5, trace:PATH?…",
  ),
  arrangement: list(
    "NAME",
    `instead of the usual ones; bench --names lists them; ${arrangementHelp}; tick-tock-mps: two trainings, with --arrivals closed`,
  ),
  slo: list(
    "p99=TIME|slowdown=PERCENT",
    "the objective that the high job states, as after run --slo",
  ),
  learn: number(
    "S",
    LEARN_S,
    "virtual time to learn in, before each window that counts, for a policy that learns",
    { min: 1 },
  ),
  rounds: number("N", undefined, "rounds of windows", ROUNDS),
  requests: number("N", undefined, "requests per arrangement, over all rounds", REQUESTS),
  seconds: number("S", undefined, "length of a window, at most", { min: 1 }),
  graph: flag(
    "where profiles are named: a request of the high job is one CUDA graph, not launch by launch",
  ),
  seed: number("N", 0, "of arrivals and of how kernels' times vary", SEEDS),
  out: text("FILE", undefined, "write the result here, as the bench does"),
  chart: text("FILE", undefined, "write an SVG: slowdown against retained throughput"),
  markdown: flag("print the table in Markdown"),
  json,
};

type Options = Args<typeof options>;

export const modelCommand = command({
  name: "model",
  summary: "what a bench would find, on a modelled GPU from profiles; needs no GPU",
  options,
  positional: {
    name: "HIGH+BEST-EFFORT | SCENARIO",
    doc:
      "HIGH and BEST-EFFORT are profiles: files, or names under --profiles. More best-effort ones may follow, and blanks " +
      "do in place of +. A SCENARIO is one of the bench's, whose jobs have profiles of their names there",
    atLeast: 1,
  },
  examples: [
    "cotenant-lab model bert-graph+gpt2-train \\\n  --profiles bench/profiles/h200",
    "cotenant-lab model resnet50-eager+bert-train \\\n  --profiles bench/profiles/h200 --slo slowdown=10% \\\n  --arrangement strict-mps --arrangement cotenant-mps",
  ],
  async run(args) {
    for (const path of [args.out, args.chart]) if (path !== undefined) checkWritable(path);
    const [only, ...others] = args.positional;
    const scenario = others.length === 0 && only !== undefined && isScenario(only, args);
    const shown = progressOf("model");
    const result = scenario ? ofScenario(only, args, shown) : ofProfiles(args, shown);
    shown.end();
    if (args.out !== undefined) writeGiven(args.out, `${JSON.stringify(result)}\n`);
    if (args.chart !== undefined) writeGiven(args.chart, chart([result]));
    if (args.json) console.log(JSON.stringify(result, null, 2));
    else if (args.markdown) console.log(markdownTable([result]));
    else console.log(terminalTable([result], process.stdout.columns, paintFor(process.stdout)));
    if (result.note !== "") console.error(`model: ${result.note}`);
    return 0;
  },
});

const common = (args: Options, shown: Progress) => ({
  ...args,
  arrangements: args.arrangement.length > 0 ? args.arrangement : undefined,
  slo: args.slo.length > 0 ? args.slo : undefined,
  codeFolder: packageRoot(),
  command: ["cotenant-lab", ...process.argv.slice(2)].join(" "),
  say: (line: string) => shown.note(line),
  step: (line: string, leftS?: number) => shown.step(line, leftS),
});

function ofProfiles(args: Options, shown: Progress): BenchResult {
  const [high, ...bestEffort] = args.positional.flatMap((part) => modelledIn(part, args));
  if (!high || bestEffort.length === 0)
    throw errors.missingArgument("model", "a best-effort job beside the high one");
  const { arrivals = "poisson" } = args;
  // The profiles have been read already, so the bench does not get them.
  return model({ high, bestEffort }, { ...common(args, shown), arrivals, profiles: undefined });
}

const folders = () => ({
  catalogue: join(packageRoot(), "bench/jobs.json"),
  scenarios: join(packageRoot(), "bench/scenarios"),
});

/** A profile of that name comes first. */
function isScenario(given: string, args: Options): boolean {
  if (given.endsWith(".json")) return isFile(given) && holdsScenario(readGiven(given, "file"));
  return !known([given], args) && isFile(join(folders().scenarios, `${given}.json`));
}

/** Other mistakes in it are found where it is read. */
const holdsScenario = (text: string): boolean =>
  /"bestEffort"\s*:/.test(text) && !/"kernels"\s*:/.test(text);

function ofScenario(given: string, args: Options, shown: Progress): BenchResult {
  const stray = args.arrivals === undefined ? (args.graph ? "--graph" : "") : "--arrivals";
  if (stray !== "") throw usage(`${stray}: the scenario ${given} says that.`);
  const asked = common(args, shown);
  const scenario = readScenario(given, { ...asked, profiles: undefined }, folders());
  const [high, ...bestEffort] = [scenario.high, ...scenario.bestEffort].map(
    ({ name }): Modelled => ({ ...read(name, args), graph: name.endsWith("-graph") }),
  );
  if (!high) throw unknown([given], args);
  return modelScenario(scenario, { high, bestEffort }, asked);
}

/** Names of the store's files may contain a +, so the shortest sequence of parts that is a known name counts. */
function modelledIn(given: string, args: Options): Modelled[] {
  const parts = given.split("+");
  const found: Modelled[] = [];
  for (let from = 0; from < parts.length; ) {
    const upTo = parts.findIndex((_, i) => i >= from && known(parts.slice(from, i + 1), args));
    if (upTo < 0) throw unknown(parts.slice(from), args);
    found.push(read(parts.slice(from, upTo + 1).join("+"), args));
    from = upTo + 1;
  }
  return found;
}

const known = (parts: readonly string[], args: Options): boolean =>
  isFile(parts.join("+")) || profilesNamed(parts.join("+"), args).length > 0;

const unknown = (parts: readonly string[], { profiles }: Options) => {
  const text = parts[0]?.includes(".json") ? parts.join("+") : (parts[0] ?? "");
  if (profiles === undefined)
    return usage(
      `There is no profile ${text}.`,
      "Give a file, or the folder of names with --profiles DIR.",
    );
  const names = [...new Set(profilesIn(profiles).map(({ name }) => name))];
  return usage(
    `There is no profile ${text}, neither a file nor a name in ${profiles}.`,
    names.length > 0 ? `There: ${names.join(", ")}.` : `${profiles} holds no profile.`,
  );
};

const profilesIn = (folder: string) => new ProfileStore(folder).list();
const profilesNamed = (name: string, { profiles }: Options) =>
  profiles === undefined ? [] : profilesIn(profiles).filter((one) => one.name === name);

function read(given: string, args: Options): Modelled {
  if (isFile(given)) return { profile: readProfileFile(given), file: given };
  const all = profilesNamed(given, args).map(({ path }) => ({
    profile: readProfileFile(path),
    file: path,
  }));
  const fitting = all.filter(
    ({ profile }) =>
      args.gpu === undefined || checkGpu(profile, modelOf(args.gpu).description.names[0]).ok,
  );
  const [only, ...others] = fitting.length > 0 ? fitting : all;
  if (!only) throw unknown([given], args);
  if (others.length === 0) return only;
  const gpus = [only, ...others].map(({ profile }) => profile.gpu.name);
  throw usage(
    `${given} has profiles of ${gpus.join(" and ")}.`,
    "Say which with --gpu, or give its file.",
  );
}
