// A scenario says what to measure: two or more jobs, the arrivals of requests, and the arrangements to compare. It is
// a JSON file, or HIGH+BEST-EFFORT with names from the catalogue. All its mistakes are reported before anything
// starts.
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import {
  type Bytes,
  errors,
  Field,
  parseBytes,
  type Refusal,
  readInput,
  readJson,
  usage,
  withPlace,
} from "#core";
import { type Arrivals, parseArrivals } from "#load";
import { parseObjective } from "#policy";
import { ProfileStore } from "#profile";
import { type Arrangement, alone, arrangementNamed, solo } from "./arrangements.ts";

export interface Job {
  readonly name: string;
  /** The words of the command. `{workloads}` and `{cotenant}` stand for parts of this package. */
  readonly run: readonly string[];
  /** GPU memory that it takes, if that limits how many processes run side by side. */
  readonly memory: Bytes;
  /** The job measures the GPU before it is ready, so no other job may work meanwhile. */
  readonly startsAlone: boolean;
  /** A file for `cotenant run --profile`, if the job runs under an agent. */
  readonly profile: string | undefined;
}

/** When requests of the high job arrive. Each rate in it is a load: a part of what the job could serve alone. */
export type Arriving = Exclude<Arrivals, { readonly kind: "file" }>;

export interface Scenario {
  readonly name: string;
  readonly high: Job;
  readonly bestEffort: readonly Job[];
  readonly arriving: Arriving;
  /** solo and alone come first. */
  readonly arrangements: readonly Arrangement[];
  readonly rounds: number;
  /** Over all rounds; with `seconds`, whichever is shorter. */
  readonly requests: number;
  readonly seconds: number;
  /** Seconds of the window that does not count, under a policy that learns. */
  readonly learn: number;
  /** Objectives of the high job, as after `run --slo`, if it runs under an agent. */
  readonly slo: readonly string[];
}

/** Changes of a scenario by the command line. */
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
  slo: [],
  arrangements: ["floor", "time-slicing", "mps", "mps-priority", "strict-isolated", "strict-mps"],
};

/** `given`: a path, a name in the scenarios' folder, or HIGH+BEST-EFFORT[+…]. Throws a UserError. */
export function readScenario(given: string, changes: Changes, folders: Folders): Scenario {
  const catalogue = readCatalogue(folders.catalogue);
  const [high, ...bestEffort] = given.split("+");
  if (bestEffort.length > 0 && !given.endsWith(".json"))
    return build(given, new Field({ high, bestEffort }, given, bad), changes, catalogue, ".");
  const path = given.endsWith(".json") ? given : `${folders.scenarios}/${given}.json`;
  const name = path.replace(/^.*\//, "").replace(/\.json$/, "");
  return build(name, readFile(path), changes, catalogue, dirname(path));
}

/** The names of the jobs in a catalogue. */
export const jobNames = (catalogue: string): string[] => [...readCatalogue(catalogue).keys()];

const bad: Refusal = (file, place, what, hint) => usage(withPlace(file, place, what), hint);

function readCatalogue(path: string): ReadonlyMap<string, Job> {
  return new Map(
    readFile(path)
      .entries()
      .map(([name, job]) => [name, readJob(job, name)]),
  );
}

function readFile(path: string): Field {
  let text: string;
  try {
    text = readInput(path).toString();
  } catch (error) {
    if (existsSync(path)) throw errors.inputNotRead("scenario", path, error);
    throw usage(
      `There is no scenario ${path}.`,
      "Give a JSON file, the name of one under bench/scenarios, or HIGH+BEST-EFFORT from bench/jobs.json.",
    );
  }
  return readJson(text, path, bad);
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
  whole: Field,
  changes: Changes,
  catalogue: ReadonlyMap<string, Job>,
  folder: string,
): Scenario {
  whole.only(keys);
  const job = (given: Field, fallback: string): Job => {
    if (typeof given.value !== "string") return readJob(given, fallback);
    const found = catalogue.get(given.value);
    if (found) return found;
    const known = `Known: ${[...catalogue.keys()].join(", ")}.`;
    throw given.bad(`no job is called ${given.brief}.`, known);
  };
  const given = whole.at("bestEffort");
  const others = Array.isArray(given.value) ? given.filledList("job") : [given];
  const jobs = {
    high: job(whole.at("high"), "high"),
    bestEffort: others.map((one, i) => job(one, `best-effort-${i + 1}`)),
  };
  return assemble(name, jobs, whole, changes, folder);
}

/** A scenario of given jobs. `arrivals` is written as in a file. Throws a UserError. */
export const scenarioOf = (
  name: string,
  jobs: Jobs,
  arrivals: string,
  changes: Changes,
): Scenario => assemble(name, jobs, new Field({ arrivals }, name, bad), changes, ".");

type Jobs = Pick<Scenario, "high" | "bestEffort">;

function assemble(
  name: string,
  jobs: Jobs,
  whole: Field,
  changes: Changes,
  folder: string,
): Scenario {
  /** The command line overrides the file. */
  const field = (key: keyof typeof usual) => {
    const changed = changes[key];
    const given =
      changed === undefined ? whole.at(key) : new Field(changed, name, bad, undefined, key);
    return given.or(usual[key]);
  };
  const number = (key: "rounds" | "requests" | "seconds" | "learn") =>
    field(key).number({ above: 0 });
  const texts = (key: "arrangements" | "slo") =>
    field(key)
      .list()
      .map((one) => one.text());
  const withProfile = (job: Job): Job => ({ ...job, profile: profileOf(job, changes.profiles) });
  const slo = texts("slo");
  if (parseObjective(slo).requests)
    throw usage(
      "--slo: a bench's jobs have no requests of an LLM engine, so state p99= or slowdown=.",
    );
  return {
    name,
    high: withProfile(jobs.high),
    bestEffort: jobs.bestEffort.map(withProfile),
    arriving: readArriving(whole.at("arrivals"), field("load"), folder),
    arrangements: distinct([solo, alone, ...texts("arrangements").map(arrangementNamed)]),
    rounds: number("rounds"),
    requests: number("requests"),
    seconds: number("seconds"),
    learn: number("learn"),
    slo,
  };
}

/** The profile of a job that has one in the folder. Which of several GPUs the bench will use is not known yet. */
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

const distinct = (all: readonly Arrangement[]): Arrangement[] => [
  ...new Map(all.map((one) => [one.name, one])).values(),
];

function readJob(job: Field, name: string): Job {
  const run = job.at("run");
  const words =
    typeof run.value === "string"
      ? run
          .text()
          .split(" ")
          .filter((word) => word !== "")
      : run.filledList("word").map((word) => word.text());
  return {
    name,
    run: words,
    memory: job.at("memory").optional((size) => parseBytes(size.text())) ?? (0 as Bytes),
    startsAlone: job.at("startsAlone").or(false).boolean(),
    profile: undefined,
  };
}

/** A trace's path is relative to `folder`. */
function readArriving(arrivals: Field, load: Field, folder: string): Arriving {
  const arriving = parseArrivals(arrivals.or("poisson").text(), checkedLoad(load));
  if (arriving.kind === "file")
    throw arrivals.bad("arrivals of a file have no load.", "Give trace:PATH?column=…&unit=….");
  if (arriving.kind === "trace") {
    const { trace } = arriving;
    return { kind: "trace", trace: { ...trace, path: resolve(folder, trace.path) } };
  }
  if (arriving.kind === "steps")
    for (const { rate } of arriving.steps) {
      if (!(rate > 0)) throw arrivals.bad(`a step's load of ${rate} is not above 0.`);
      if (rate > 1) throw impossible(arrivals, rate);
    }
  return arriving;
}

function checkedLoad(field: Field): number {
  const load = field.number({ above: 0 });
  if (load > 1) throw impossible(field, load);
  return load;
}

const impossible = (field: Field, load: number) =>
  field.bad(
    `a load of ${load} is impossible: requests would arrive faster than the GPU serves them alone.`,
    "Give a load of at most 1, such as 0.2.",
  );
