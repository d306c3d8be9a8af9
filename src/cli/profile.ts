// Profiles of jobs: made by recording a command or from what profilers write, listed, shown.
import { basename } from "node:path";
import { errors, type Micros, UserError, usage } from "#core";
import {
  checkGpu,
  importNcu,
  importOrion,
  importRecording,
  importTorch,
  type KernelProfile,
  ProfileStore,
  readProfileFile,
  type WorkloadProfile,
} from "#profile";
import { type Args, choice, command, duration, json, number, text } from "./command.ts";
import { readGiven, written } from "./files.ts";
import { micros, percent, table } from "./print.ts";
import { record } from "./record.ts";

const options = {
  from: choice(
    ["ncu", "torch", "orion"],
    undefined,
    "import: what wrote the files: Nsight Compute (--csv), PyTorch's profiler, Orion's model_kernels",
  ),
  name: text("NAME", undefined, "of the profile; by default that of the file, or of the command"),
  kind: choice(["inference", "training"], undefined, "what is profiled; Orion's files say it"),
  seconds: number("S", undefined, "record: then the command is told to end (SIGTERM)", { min: 1 }),
  gpu: text("NAME", undefined, "import: the GPU, such as H200, where the file does not say it"),
  solo: duration("TIME", undefined, "import: of a request or iteration alone, without a profiler"),
  iterations: number("N", 1, "import: requests or iterations in a file of Nsight Compute", {
    min: 1,
    whole: true,
  }),
  out: text("DIR", undefined, "record, import: the folder of profiles to write to"),
  top: number("N", 10, "show: kernels, those that take most time first", { min: 1, whole: true }),
  json,
};

type Given = Args<typeof options>;

export const profileCommand = command({
  name: "profile",
  summary: "profiles of jobs, which the model runs on: record or import them, list them, show one",
  options,
  positional: {
    name: "record COMMAND… | import FILE… | list DIR | show FILE",
    doc: "record needs --kind and --out; import --from and --out, and --kind but for Orion's files",
    atLeast: 1,
  },
  async run(args) {
    const [verb = "", ...rest] = args.positional;
    switch (verb) {
      case "record":
        return await recordOne(rest, args);
      case "import":
        return importAll(rest, args);
      case "list":
        return listFolder(only(rest, "list", "DIR"), args);
      case "show":
        return show(only(rest, "show", "FILE"), args);
      default:
        throw usage(`"profile" can't do "${verb}".`, "Known: record, import, list, show.");
    }
  },
});

function only([first, ...others]: readonly string[], verb: string, wanted: string): string {
  if (first === undefined) throw errors.missingArgument(`profile ${verb}`, `a ${wanted}`);
  if (others[0] !== undefined) throw errors.strayArgument(`profile ${verb}`, others[0]);
  return first;
}

/** Of an unmodified program: durations, shapes and the order of its launches; its kernels' classes stay unknown. */
async function recordOne([program, ...rest]: readonly string[], args: Given): Promise<number> {
  const { kind, out, solo, gpu } = args;
  if (program === undefined) throw errors.missingArgument("profile record", "a COMMAND");
  if (out === undefined) throw errors.missingArgument("profile record", "--out DIR");
  if (kind === undefined)
    throw errors.missingArgument("profile record", "--kind inference|training");
  console.error("profile: recording until the command ends");
  const content = await record([program, ...rest], args.seconds);
  const profile = importRecording(content, {
    name: args.name ?? basename(program),
    kind,
    file: `the recording of ${program}`,
    source: [program, ...rest].join(" "),
    ...(gpu === undefined ? {} : { gpu }),
    ...(solo === undefined ? {} : { soloNs: nsOf(solo) }),
  });
  const path = written(out, () => new ProfileStore(out).write(profile));
  console.log(
    args.json
      ? JSON.stringify(summaryOf(profile), null, 2)
      : `${path}: ${summaryText(profile)}\nIts kernels' classes are unknown: Nsight Compute would tell them.`,
  );
  return 0;
}

function importAll(files: readonly string[], args: Given): number {
  if (files.length === 0) throw errors.missingArgument("profile import", "a FILE");
  if (args.out === undefined) throw errors.missingArgument("profile import", "--out DIR");
  if (files.length > 1 && args.name !== undefined)
    throw usage("--name is for one file.", "Of several, each profile has the name of its file.");
  // All are read before the first is written.
  const profiles = files.map((file) => importOne(file, args));
  const { out } = args;
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

function show(file: string, args: Given): number {
  const profile = readProfileFile(file);
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
