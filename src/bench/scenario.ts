// What to measure: two or more jobs, when requests arrive, and the arrangements to compare. Written as a
// JSON file, or as HIGH+BEST-EFFORT with names from the catalogue. Everything that can be wrong with it
// is said before anything starts.
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Bytes, errors, parseBytes, readInput, usage } from "#core";
import { type Arrivals, parseArrivals } from "#load";
import { parseObjective } from "#policy";
import { ProfileStore } from "#profile";
import { type Arrangement, alone, arrangementNamed, solo } from "./arrangements.ts";

export interface Job {
  readonly name: string;
  /** Words; `{workloads}` and `{cotenant}` stand for parts of this package. */
  readonly run: readonly string[];
  /** GPU memory it takes, when that matters for how many processes live side by side. */
  readonly memory: Bytes;
  /** It measures the GPU before it is ready, so nobody else may be at work meanwhile. */
  readonly startsAlone: boolean;
  /** A file, given to `cotenant run --profile` where it lives under an agent. */
  readonly profile: string | undefined;
}

/** When requests of the high job arrive; every rate in it is a load: a part of what it could serve alone. */
export type Arriving = Exclude<Arrivals, { readonly kind: "file" }>;

export interface Scenario {
  readonly name: string;
  readonly high: Job;
  readonly bestEffort: readonly Job[];
  readonly arriving: Arriving;
  /** solo and alone first. */
  readonly arrangements: readonly Arrangement[];
  readonly rounds: number;
  /** Pooled over the rounds; with `seconds`, whichever is shorter. */
  readonly requests: number;
  readonly seconds: number;
  /** Of the window that does not count, under a policy that learns. */
  readonly learn: number;
  /** Objectives of the high job, as after `run --slo`, where it lives under an agent. */
  readonly slo: readonly string[];
}

/** What the command line changes about a scenario. */
export interface Changes {
  readonly load?: number | undefined;
  readonly rounds?: number | undefined;
  readonly requests?: number | undefined;
  readonly seconds?: number | undefined;
  readonly learn?: number | undefined;
  readonly arrangements?: readonly string[] | undefined;
  readonly slo?: readonly string[] | undefined;
  /** A folder of profiles. */
  readonly profiles?: string | undefined;
}

export interface Folders {
  readonly catalogue: string;
  readonly scenarios: string;
}

const usual = {
  load: 0.2,
  rounds: 3,
  requests: 3000,
  seconds: 30,
  learn: 1.5,
  arrangements: ["floor", "time-slicing", "mps", "mps-priority", "strict-isolated", "strict-mps"],
};

/** `given`: a path, a name in the scenarios' folder, or HIGH+BEST-EFFORT[+…]. Throws a UserError. */
export function readScenario(given: string, changes: Changes, folders: Folders): Scenario {
  const catalogue = readCatalogue(folders.catalogue);
  const [high, ...bestEffort] = given.split("+");
  if (bestEffort.length > 0 && !given.endsWith(".json"))
    return build(given, { high, bestEffort }, changes, catalogue, ".");
  const path = given.endsWith(".json") ? given : `${folders.scenarios}/${given}.json`;
  const name = path.replace(/^.*\//, "").replace(/\.json$/, "");
  return build(name, readJson(path), changes, catalogue, dirname(path));
}

/** Of the jobs in a catalogue. */
export const jobNames = (catalogue: string): string[] => [...readCatalogue(catalogue).keys()];

function readCatalogue(path: string): ReadonlyMap<string, Job> {
  const entries = Object.entries(object(readJson(path), path));
  return new Map(entries.map(([name, job]) => [name, readJob(job, name, `${path}: ${name}`)]));
}

function readJson(path: string): unknown {
  let text: string;
  try {
    text = readInput(path).toString();
  } catch (fault) {
    if (existsSync(path)) throw errors.inputNotRead("scenario", path, fault);
    throw usage(
      `There is no scenario ${path}.`,
      "Give a JSON file, the name of one under bench/scenarios, or HIGH+BEST-EFFORT from bench/jobs.json.",
    );
  }
  try {
    return JSON.parse(text);
  } catch (fault) {
    throw usage(`${path} is no JSON: ${fault instanceof Error ? fault.message : fault}.`);
  }
}

const keys = [
  "high",
  "bestEffort",
  "arrivals",
  "load",
  "arrangements",
  "rounds",
  "requests",
  "seconds",
  "learn",
  "slo",
  "about",
];

function build(
  name: string,
  json: unknown,
  changes: Changes,
  catalogue: ReadonlyMap<string, Job>,
  folder: string,
): Scenario {
  const given = object(json, name);
  for (const key of Object.keys(given))
    if (!keys.includes(key))
      throw usage(`${name}: "${key}" is unknown.`, `Known: ${keys.join(", ")}.`);
  const job = (one: unknown, fallback: string): Job => {
    if (typeof one !== "string") return readJob(one, fallback, `${name}: ${fallback}`);
    const found = catalogue.get(one);
    if (!found)
      throw usage(
        `${name}: no job is called "${one}".`,
        `Known: ${[...catalogue.keys()].join(", ")}.`,
      );
    return found;
  };
  if (given.high === undefined) throw usage(`${name}: "high" is missing.`);
  const others = Array.isArray(given.bestEffort) ? given.bestEffort : [given.bestEffort];
  if (given.bestEffort === undefined || others.length === 0)
    throw usage(`${name}: "bestEffort" is missing.`);
  const jobs = {
    high: job(given.high, "high"),
    bestEffort: others.map((one, i) => job(one, `best-effort-${i + 1}`)),
  };
  return assembled(name, jobs, given, changes, folder);
}

/** Of jobs that are given; `arrivals` as in a file. Throws a UserError. */
export const scenarioOf = (
  name: string,
  jobs: Jobs,
  arrivals: string,
  changes: Changes,
): Scenario => assembled(name, jobs, { arrivals }, changes, ".");

type Jobs = Pick<Scenario, "high" | "bestEffort">;

function assembled(
  name: string,
  jobs: Jobs,
  given: Readonly<Record<string, unknown>>,
  changes: Changes,
  folder: string,
): Scenario {
  const names = changes.arrangements ?? given.arrangements ?? usual.arrangements;
  if (!Array.isArray(names) || !names.every((one) => typeof one === "string"))
    throw usage(`${name}: "arrangements" is not a list of names.`);
  const number = (key: "rounds" | "requests" | "seconds" | "learn") =>
    positive(changes[key] ?? given[key] ?? usual[key], `${name}: ${key}`);
  const profiled = (job: Job): Job => ({ ...job, profile: profileOf(job, changes.profiles) });
  return {
    name,
    high: profiled(jobs.high),
    bestEffort: jobs.bestEffort.map(profiled),
    arriving: readArriving(given.arrivals, changes.load ?? given.load, name, folder),
    arrangements: distinct([solo, alone, ...names.map(arrangementNamed)]),
    rounds: number("rounds"),
    requests: number("requests"),
    seconds: number("seconds"),
    learn: number("learn"),
    slo: readSlo(changes.slo ?? given.slo ?? [], name),
  };
}

/** Of a job that has one there: which of several GPUs the bench will run on is not known yet. */
function profileOf({ name }: Job, folder: string | undefined): string | undefined {
  if (folder === undefined) return undefined;
  const [only, other] = new ProfileStore(resolve(folder)).list().filter((one) => one.name === name);
  if (only && other)
    throw usage(
      `${name} has profiles of ${only.gpu} and ${other.gpu} in ${folder}.`,
      "Give a folder with those of one GPU.",
    );
  return only?.path;
}

function readSlo(given: unknown, where: string): readonly string[] {
  if (!Array.isArray(given) || !given.every((one) => typeof one === "string"))
    throw usage(`${where}: "slo" is not a list such as ["slowdown=10%"].`);
  parseObjective(given);
  return given;
}

const distinct = (all: readonly Arrangement[]): Arrangement[] => [
  ...new Map(all.map((one) => [one.name, one])).values(),
];

function readJob(json: unknown, name: string, where: string): Job {
  const { run, memory, startsAlone = false } = object(json, where);
  const words = typeof run === "string" ? run.split(" ").filter((word) => word !== "") : run;
  if (!Array.isArray(words) || words.length === 0 || !words.every((w) => typeof w === "string"))
    throw usage(`${where}: "run" is neither a command nor a list of its words.`);
  if (memory !== undefined && typeof memory !== "string")
    throw usage(`${where}: "memory" is no size such as 20GiB.`);
  if (typeof startsAlone !== "boolean")
    throw usage(`${where}: "startsAlone" is neither true nor false.`);
  const size = memory === undefined ? (0 as Bytes) : parseBytes(memory);
  return { name, run: words, memory: size, startsAlone, profile: undefined };
}

/** A trace's path is relative to `folder`. */
function readArriving(given: unknown, load: unknown, where: string, folder: string): Arriving {
  const text = given ?? "poisson";
  if (typeof text !== "string")
    throw usage(`${where}: "arrivals" is no text such as "poisson" or "steps:10s@0.1,10s@0.5".`);
  const arriving = parseArrivals(text, checkedLoad(load ?? usual.load, where));
  if (arriving.kind === "file")
    throw usage(`${where}: arrivals of a file have no load.`, "Give trace:PATH?column=…&unit=….");
  if (arriving.kind === "trace") {
    const { trace } = arriving;
    return { kind: "trace", trace: { ...trace, path: resolve(folder, trace.path) } };
  }
  if (arriving.kind === "steps") for (const { rate } of arriving.steps) checkedLoad(rate, where);
  return arriving;
}

function checkedLoad(load: unknown, where: string): number {
  if (typeof load !== "number" || !(load > 0))
    throw usage(`${where}: the load ${String(load)} is not a number above 0.`);
  if (load > 1)
    throw usage(
      `${where}: a load of ${load} is impossible: requests would arrive faster than the GPU serves them alone.`,
      "Give a load of at most 1, such as 0.2.",
    );
  return load;
}

function positive(value: unknown, what: string): number {
  if (typeof value !== "number" || !(value > 0)) throw usage(`${what}: not a number above 0.`);
  return value;
}

function object(json: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw usage(`${where} is not a JSON object.`);
  return json as Readonly<Record<string, unknown>>;
}
