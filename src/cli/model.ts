// What the bench measures, foreseen: the same rounds, figures and tables on a modelled GPU, from profiles.
import { chart, type Modelled, markdownTable, model } from "#bench";
import { errors, usage } from "#core";
import { modelledGpus, modelOf } from "#gpu";
import { arrangementHelp } from "#policy";
import { checkGpu, ProfileStore, readProfileFile } from "#profile";
import { type Args, choice, command, flag, json, list, number, text } from "./command.ts";
import { isFile, writeGiven } from "./files.ts";
import { packageRoot } from "./package.ts";

const more = { min: 1, whole: true };
const SEEDS = { min: 0, max: 1_000_000, whole: true };

/** The way up takes 300 bursts a level. */
const LEARN_S = 30;

const options = {
  profiles: text("DIR", undefined, "where profiles given by name are"),
  gpu: choice(
    modelledGpus,
    undefined,
    "the GPU to model; by default the one that the profiles come from. One with other SMs is refused; between " +
      "GPUs that differ in less, kernels keep their times",
  ),
  load: number("L", undefined, "part of what the high job could serve alone, 0 to 1"),
  arrivals: text(
    "KIND",
    "poisson",
    "poisson, uniform, bursty, closed, steps:10s@0.1,10s@0.5, trace:PATH?…",
  ),
  arrangement: list("NAME", `instead of the usual ones; ${arrangementHelp}`),
  slo: list("p99=TIME|slowdown=PERCENT", "what the high job asks for, as after run --slo"),
  learn: number(
    "S",
    LEARN_S,
    "of virtual time before each window that counts, under a policy that has something to learn",
    { min: 1 },
  ),
  rounds: number("N", undefined, "rounds of windows", more),
  requests: number("N", undefined, "requests per arrangement, over all rounds", more),
  seconds: number("S", undefined, "of a window, at most", { min: 1 }),
  graph: flag("a request of the high job is one graph, not launch by launch"),
  seed: number("N", 0, "of arrivals and of how kernels' times vary", SEEDS),
  out: text("FILE", undefined, "write the result here, as the bench does"),
  chart: text("FILE", undefined, "write an SVG: slowdown against throughput kept"),
  json,
};

type Given = Args<typeof options>;

export const modelCommand = command({
  name: "model",
  summary: "what a bench would find, on a modelled GPU from profiles; needs no GPU",
  options,
  positional: {
    name: "HIGH+BEST-EFFORT",
    doc: "profiles: files, or names under --profiles; more best-effort ones may follow; blanks do for +",
    atLeast: 1,
  },
  async run(args) {
    const [high, ...bestEffort] = args.positional.flatMap((part) => modelledIn(part, args));
    if (!high || bestEffort.length === 0)
      throw errors.missingArgument("model", "a best-effort job beside the high one");
    const result = model(
      { high, bestEffort },
      {
        ...args,
        profiles: undefined, // they have been read
        arrangements: args.arrangement.length > 0 ? args.arrangement : undefined,
        slo: args.slo.length > 0 ? args.slo : undefined,
        codeFolder: packageRoot(),
        command: ["cotenant", ...process.argv.slice(2)].join(" "),
        say: (line) => console.error(`model: ${line}`),
      },
    );
    if (args.out !== undefined) writeGiven(args.out, `${JSON.stringify(result)}\n`);
    if (args.chart !== undefined) writeGiven(args.chart, chart([result]));
    console.log(args.json ? JSON.stringify(result, null, 2) : markdownTable([result]));
    if (result.note !== "") console.error(`model: ${result.note}`);
    return 0;
  },
});

/** Names of the store's files have a + of their own: the shortest run of parts that is known counts. */
function modelledIn(given: string, args: Given): Modelled[] {
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

const known = (parts: readonly string[], args: Given): boolean =>
  isFile(parts.join("+")) || named(parts.join("+"), args).length > 0;

const unknown = (parts: readonly string[], { profiles }: Given) => {
  const text = parts[0]?.includes(".json") ? parts.join("+") : (parts[0] ?? "");
  if (profiles === undefined)
    return usage(
      `There is no profile ${text}.`,
      "Give a file, or the folder of names with --profiles DIR.",
    );
  const names = [...new Set(stored(profiles).map(({ name }) => name))];
  return usage(
    `There is no profile ${text}, neither a file nor a name in ${profiles}.`,
    names.length > 0 ? `There: ${names.join(", ")}.` : `${profiles} holds no profile.`,
  );
};

const stored = (folder: string) => new ProfileStore(folder).list();
const named = (name: string, { profiles }: Given) =>
  profiles === undefined ? [] : stored(profiles).filter((one) => one.name === name);

function read(given: string, args: Given): Modelled {
  if (isFile(given)) return { profile: readProfileFile(given), file: given };
  const all = named(given, args).map(({ path }) => ({
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
