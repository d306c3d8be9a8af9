// Profiles of jobs: made by recording a command or from what profilers write, listed, shown.
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { errors, type Micros, UserError, usage } from "#core";
import {
  checkGpu,
  importNcu,
  importOrion,
  importTorch,
  type KernelProfile,
  ProfileStore,
  profileFolder,
  readProfileFile,
  type WorkloadProfile,
} from "#profile";
import { type Args, choice, command, duration, flag, json, number, text } from "../../command.ts";
import { readGiven, written } from "../../../core/files.ts";
import { measure } from "../../../profile/measure/measure.ts";
import { micros, percent, table } from "../../../core/print.ts";

const options = {
  name: text(
    "NAME",
    undefined,
    "the profile's name; by default the program's, its script's or the file's",
  ),
  out: text(
    "DIR",
    undefined,
    "the folder of profiles; by default COTENANT_PROFILES, or ~/.local/share/cotenant/profiles",
  ),
  kind: choice(
    ["inference", "training"],
    undefined,
    "what is profiled; by default the names of a command's kernels tell, and Orion's files say it",
  ),
  seconds: number("S", undefined, "after so long the command is told to end (SIGTERM)", { min: 1 }),
  "no-ncu": flag("no second run under Nsight Compute: the kernels' classes stay unknown"),
  "one-pass": flag(
    "several runs under Nsight Compute, of one pass each: faster for jobs with gigabytes of memory, which it saves " +
      "before each kernel that takes more passes",
  ),
  fresh: flag("measure anew what an earlier, unfinished run has kept"),
  from: choice(
    ["ncu", "torch", "orion"],
    undefined,
    "import: what wrote the files: Nsight Compute (with --csv), PyTorch's profiler, or Orion's artifact (model_kernels)",
  ),
  gpu: text(
    "NAME",
    undefined,
    "the GPU, such as H200, where the driver or the file does not say it",
  ),
  solo: duration(
    "TIME",
    undefined,
    "how long a request or iteration takes alone, if that is known better",
  ),
  iterations: number("N", 1, "import: requests or iterations in a file of Nsight Compute", {
    min: 1,
    whole: true,
  }),
  top: number("N", 10, "show: how many kernels, those that take most time first", {
    min: 1,
    whole: true,
  }),
  json,
};

type Given = Args<typeof options>;

export const profileCommand = command({
  name: "profile",
  summary: "measure what a command asks of the GPU; import, list and show such profiles",
  options,
  positional: {
    name: "-- COMMAND… | import FILE… | list [DIR] | show NAME|FILE",
    doc: "COMMAND is run twice, unmodified. import needs --from, and --kind except for Orion's files",
    atLeast: 1,
    endsOptions: (word) => !["import", "list", "show"].includes(word),
  },
  examples: [
    "cotenant profile --name serve --seconds 20 -- \\\n  python3 serve.py",
    "cotenant profile show serve",
    "cotenant run --class high --profile serve -- \\\n  python3 serve.py",
  ],
  async run(args) {
    const [verb = "", ...rest] = args.positional;
    switch (verb) {
      case "import":
        return importAll(rest, args);
      case "list":
        return listFolder(atMostOne(rest, "list") ?? folderOf(args), args);
      case "show":
        return show(only(rest, "show", "NAME or FILE"), args);
      default:
        return await measureOne([verb, ...rest], args);
    }
  },
});

const folderOf = ({ out }: Given): string => out ?? profileFolder(process.env);

function atMostOne([first, ...others]: readonly string[], verb: string): string | undefined {
  if (others[0] !== undefined) throw errors.strayArgument(`profile ${verb}`, others[0]);
  return first;
}

function only(given: readonly string[], verb: string, wanted: string): string {
  const first = atMostOne(given, verb);
  if (first === undefined) throw errors.missingArgument(`profile ${verb}`, `a ${wanted}`);
  return first;
}

async function measureOne(command: readonly [string, ...string[]], args: Given): Promise<number> {
  const { profile, path, lacks } = await measure({
    command,
    name: args.name ?? nameOf(command),
    out: folderOf(args),
    kind: args.kind,
    gpu: args.gpu,
    soloNs: args.solo && nsOf(args.solo),
    seconds: args.seconds,
    sample: !args["no-ncu"],
    onePass: args["one-pass"],
    fresh: args.fresh,
    say: (text) => console.error(`profile: ${text}`),
  });
  for (const lack of lacks) console.error(`profile: ${lack}.`);
  console.log(
    args.json ? JSON.stringify(summaryOf(profile), null, 2) : `${path}: ${summaryText(profile)}`,
  );
  return 0;
}

const INTERPRETER = /^(python|node|bash|sh|torchrun)[\d.]*$/;

/** The program's, or of a script the script's. */
function nameOf([program, ...args]: readonly [string, ...string[]]): string {
  const script = INTERPRETER.test(basename(program))
    ? args.find((word) => /^[^-].*\.\w+$/.test(word))
    : undefined;
  return basename(script ?? program).replace(/\.\w+$/, "");
}

function importAll(files: readonly string[], args: Given): number {
  if (files.length === 0) throw errors.missingArgument("profile import", "a FILE");
  if (files.length > 1 && args.name !== undefined)
    throw usage("--name is for one file.", "Of several, each profile has the name of its file.");
  // All are read before the first is written.
  const profiles = files.map((file) => importOne(file, args));
  const out = folderOf(args);
  const store = new ProfileStore(out);
  for (const profile of profiles) {
    const path = written(out, () => store.write(profile));
    if (!args.json) console.log(`${path}: ${summaryText(profile)}`);
  }
  if (args.json) console.log(JSON.stringify(profiles.map(summaryOf), null, 2));
  return 0;
}

function importOne(file: string, args: Given): WorkloadProfile {
  const { from, kind, gpu } = args;
  if (from === undefined) throw errors.missingArgument("profile import", "--from ncu|torch|orion");
  const soloNs = args.solo && nsOf(args.solo);
  if (from === "orion") return importedOrion(file, args, soloNs);
  if (kind === undefined)
    throw errors.missingArgument("profile import", "--kind inference|training");
  const about = {
    name: args.name ?? basename(file).replace(/(\.pt\.trace)?\.\w+$/, ""),
    kind,
    file,
    source: file,
    ...(gpu === undefined ? {} : { gpu }),
    ...(soloNs === undefined ? {} : { soloNs }),
  };
  const content = readGiven(file, "file");
  return from === "ncu"
    ? importNcu(content, { ...about, iterations: args.iterations })
    : importTorch(content, about);
}

/** These files say what they are and which GPU it was: what is said besides must agree. */
function importedOrion(file: string, args: Given, soloNs: number | undefined): WorkloadProfile {
  const profile = importOrion(readGiven(file, "file"), file, file);
  if (args.kind !== undefined && args.kind !== profile.kind)
    throw usage(`${file}: by its name it is ${profile.kind}, not ${args.kind}.`);
  if (args.gpu !== undefined && !checkGpu(profile, args.gpu).ok)
    throw usage(`${file}: Orion's files were recorded on ${profile.gpu.name}, not on ${args.gpu}.`);
  return { ...profile, name: args.name ?? profile.name, soloNs: soloNs ?? profile.soloNs };
}

const nsOf = (time: Micros): number => Math.round(time * 1000);

/** How often each kernel is launched in one request or iteration. */
function launchesOf({ kernels, sequence }: WorkloadProfile): number[] {
  const counts = kernels.map(() => 0);
  for (const step of sequence)
    if ("kernel" in step) counts[step.kernel] = (counts[step.kernel] ?? 0) + 1;
  return counts;
}

const classNames = ["compute", "memory", "unknown"] as const;

interface Summary {
  readonly name: string;
  readonly kind: WorkloadProfile["kind"];
  readonly gpu: string;
  readonly launches: number;
  readonly distinct: number;
  /** Of all kernels, one after the other. */
  readonly kernelNs: number;
  readonly soloNs: number | undefined;
  /** That a kernel can fill, mean over the kernels' time. */
  readonly sms: number;
  readonly smsOfGpu: number;
  /** Parts of the kernels' time. */
  readonly classes: Readonly<Record<KernelProfile["class"], number>>;
}

function summaryOf(profile: WorkloadProfile): Summary {
  const { name, kind, gpu, kernels, soloNs } = profile;
  const counts = launchesOf(profile);
  const timed = kernels.map((kernel, i) => ({
    kernel,
    ns: (counts[i] ?? 0) * kernel.durationNs.p50,
  }));
  const sum = (of: (one: (typeof timed)[number]) => number) =>
    timed.reduce((total, one) => total + of(one), 0);
  const kernelNs = sum(({ ns }) => ns);
  const part = (of: KernelProfile["class"]) =>
    kernelNs === 0 ? 0 : sum(({ kernel, ns }) => (kernel.class === of ? ns : 0)) / kernelNs;
  return {
    name,
    kind,
    gpu: gpu.name,
    launches: counts.reduce((total, count) => total + count, 0),
    distinct: kernels.length,
    kernelNs,
    soloNs,
    sms:
      kernelNs === 0
        ? 0
        : sum(({ kernel, ns }) => ns * Math.min(kernel.smsNeeded, gpu.sms)) / kernelNs,
    smsOfGpu: gpu.sms,
    classes: { compute: part("compute"), memory: part("memory"), unknown: part("unknown") },
  };
}

const time = (ns: number | undefined): string => micros(ns === undefined ? ns : ns / 1000);

function summaryText(profile: WorkloadProfile): string {
  const { name, kind, gpu, launches, distinct, kernelNs, sms, smsOfGpu, classes, soloNs } =
    summaryOf(profile);
  const mix = classNames
    .filter((one) => classes[one] > 0)
    .map((one) => `${one} ${percent(classes[one])}`);
  return [
    `${name}, ${kind} on ${gpu}`,
    `${launches} kernels, ${distinct} distinct, ${time(kernelNs)} in all`,
    ...(soloNs === undefined ? [] : [`${time(soloNs)} alone`]),
    `${sms.toFixed(0)} of ${smsOfGpu} SMs`,
    mix.join(", "),
  ].join("; ");
}

function listFolder(folder: string, args: Given): number {
  if (args.positional[1] !== undefined && !existsSync(folder))
    throw usage(`There is no folder ${folder}.`);
  const all = new ProfileStore(folder).list();
  if (args.json) {
    console.log(JSON.stringify(all, null, 2));
    return 0;
  }
  if (all.length === 0) {
    console.log(`${folder} holds no profile.`);
    return 0;
  }
  const rows = all.map(({ name, gpu, path }) => [name, gpu, ...rowOf(path)]);
  const head = ["name", "GPU", "kind", "kernels", "distinct", "time", "alone", "SMs"];
  for (const line of table([head, ...rows], 3)) console.log(line);
  return 0;
}

/** A file that can't be used does not hide the others. */
function rowOf(path: string): string[] {
  try {
    const profile = readProfileFile(path);
    const { kind, launches, distinct, kernelNs, soloNs, sms } = summaryOf(profile);
    const counts = [launches, distinct].map(String);
    return [kind, ...counts, time(kernelNs), time(soloNs), sms.toFixed(0)];
  } catch (fault) {
    if (!(fault instanceof UserError)) throw fault;
    return ["damaged", "-", "-", "-", "-", "-"];
  }
}

/** Longer names are templates spelt out. */
const NAME_WIDTH = 60;

/** A name goes for the first profile that has it. */
function pathOf(given: string, folder: string): string {
  if (given.includes("/") || given.endsWith(".json")) return given;
  const stored = new ProfileStore(folder).list();
  const found = stored.find(({ name }) => name === given);
  if (found) return found.path;
  throw errors.noSuchProfile(given, folder, [...new Set(stored.map(({ name }) => name))]);
}

function show(asked: string, args: Given): number {
  const profile = readProfileFile(pathOf(asked, folderOf(args)));
  if (args.json) {
    console.log(JSON.stringify(profile, null, 2));
    return 0;
  }
  console.log(`${summaryText(profile)}; from ${profile.source}\n`);
  const counts = launchesOf(profile);
  const { kernelNs } = summaryOf(profile);
  const kernels = profile.kernels
    .map((kernel, i) => ({ kernel, launches: counts[i] ?? 0 }))
    .map((one) => ({ ...one, ns: one.launches * one.kernel.durationNs.p50 }))
    .sort((a, b) => b.ns - a.ns);
  const rows = kernels
    .slice(0, args.top)
    .map(({ kernel, launches, ns }) => [
      shortened(kernel.name),
      kernel.class,
      String(launches),
      time(kernel.durationNs.p50),
      time(kernel.durationNs.p95),
      String(kernel.smsNeeded),
      time(ns),
      percent(kernelNs === 0 ? 0 : ns / kernelNs),
    ]);
  const head = ["kernel", "class", "launches", "p50", "p95", "SMs", "in all", "part"];
  for (const line of table([head, ...rows], 2)) console.log(line);
  const rest = kernels.slice(args.top);
  const left = rest.reduce((sum, { ns }) => sum + ns, 0);
  if (rest.length > 0) console.log(`${rest.length} more kernels take ${time(left)}.`);
  return 0;
}

const shortened = (name: string): string =>
  name.length > NAME_WIDTH ? `${name.slice(0, NAME_WIDTH - 1)}…` : name;
