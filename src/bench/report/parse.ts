// A result file back from disk. The type says what must be there; whatever else is there is left out.
import { UserError } from "#core";
import type {
  BenchResult,
  BestEffortFigures,
  Cell,
  GpuFigures,
  HighFigures,
  JobFacts,
  Machine,
  Ratio,
  ScenarioFacts,
  StepFigures,
} from "../result.ts";

/** Throws a UserError that names the file and the field. */
export function parseResult(text: string, path: string): BenchResult {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw badResult(path, "it is no JSON");
  }
  try {
    return bench(json, "");
  } catch (fault) {
    if (fault instanceof Mismatch) throw badResult(path, fault.message);
    throw fault;
  }
}

const badResult = (path: string, why: string) =>
  new UserError("BAD_RESULT", `${path} is not a bench result of version 2: ${why}.`);

class Mismatch extends Error {
  constructor(at: string, wanted: string, value: unknown) {
    const found =
      typeof value === "string" || typeof value === "number"
        ? ` but ${JSON.stringify(value).slice(0, 40)}`
        : value === undefined
          ? " but missing"
          : "";
    super(at === "" ? `it is not ${wanted}` : `"${at}" is not ${wanted}${found}`);
  }
}

/** Returns the value, or throws a Mismatch that names its place. */
type Reader<T> = (value: unknown, at: string) => T;

const string: Reader<string> = (value, at) => {
  if (typeof value === "string") return value;
  throw new Mismatch(at, "a text", value);
};

const number: Reader<number> = (value, at) => {
  if (typeof value === "number") return value;
  throw new Mismatch(at, "a number", value);
};

/** JSON writes NaN, which is the figure of nothing, as null. */
const figure: Reader<number> = (value, at) => (value === null ? Number.NaN : number(value, at));

function oneOf<const T extends string | number>(...all: readonly T[]): Reader<T> {
  return (value, at) => {
    const found = all.find((one) => one === value);
    if (found !== undefined) return found;
    throw new Mismatch(at, all.map((one) => JSON.stringify(one)).join(" or "), value);
  };
}

const maybe =
  <T>(read: Reader<T>): Reader<T | undefined> =>
  (value, at) =>
    value === undefined || value === null ? undefined : read(value, at);

const list =
  <T>(read: Reader<T>): Reader<readonly T[]> =>
  (value, at) => {
    if (!Array.isArray(value)) throw new Mismatch(at, "a list", value);
    return value.map((one, i) => read(one, `${at}[${i}]`));
  };

const facts: Reader<Readonly<Record<string, unknown>>> = (value, at) => {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new Mismatch(at, "an object", value);
};

function object<T extends object>(
  readers: {
    readonly [K in keyof T]-?: Reader<T[K]>;
  },
): Reader<T> {
  return (value, at) => {
    const given = facts(value, at);
    const read = Object.entries<Reader<unknown>>(readers)
      .map(([key, reader]) => [key, reader(given[key], at === "" ? key : `${at}.${key}`)] as const)
      .filter(([, one]) => one !== undefined);
    return Object.fromEntries(read) as T; // each key was read as the type of its field
  };
}

const ratio = object<Ratio>({ value: figure, low: figure, high: figure, rounds: list(figure) });

const machine = object<Machine>({ gpu: string, driver: string, cpu: string, cpus: number });

const job = object<JobFacts>({ name: string, command: string, facts });

const scenario = object<ScenarioFacts>({
  name: string,
  high: job,
  bestEffort: list(job),
  load: maybe(number),
  ratePerS: maybe(number),
  arrivals: string,
  rounds: number,
  windowSeconds: number,
  slo: maybe(list(string)),
});

const high = object<HighFigures>({
  requests: number,
  latencyMs: object<HighFigures["latencyMs"]>({ p50: figure, p95: figure, p99: figure }),
  burstMs: object<HighFigures["burstMs"]>({ p50: figure, p99: figure }),
  waitedMs: maybe(object<NonNullable<HighFigures["waitedMs"]>>({ p50: figure, p99: figure })),
  latency: object<HighFigures["latency"]>({ p50: ratio, p95: ratio, p99: ratio }),
  burst: object<HighFigures["burst"]>({ p50: ratio, p99: ratio }),
  throughput: ratio,
  activeShare: ratio,
});

const bestEffort = object<BestEffortFigures>({
  jobs: list(
    object<BestEffortFigures["jobs"][number]>({ name: string, perS: figure, retained: ratio }),
  ),
  retained: ratio,
  retainedOfPossible: maybe(number),
  costSavings: maybe(number),
});

const gpu = object<GpuFigures>({
  smActivity: maybe(number),
  dramActivity: maybe(number),
  pcieInMiBs: maybe(number),
  smClockMHz: maybe(number),
  powerW: maybe(number),
});

const step = object<StepFigures>({
  ratePerS: number,
  seconds: number,
  latency: object<StepFigures["latency"]>({ p50: figure, p99: figure }),
  retained: figure,
  settledMs: maybe(number),
});

const numbers: Reader<Readonly<Record<string, number>>> = (value, at) =>
  Object.fromEntries(
    Object.entries(facts(value, at)).map(([key, one]) => [key, number(one, `${at}.${key}`)]),
  );

const cell = object<Cell>({
  arrangement: string,
  status: oneOf("ok", "failed"),
  reason: maybe(string),
  rules: maybe(numbers),
  high: maybe(high),
  bestEffort: maybe(bestEffort),
  gpu: maybe(gpu),
  steps: maybe(list(step)),
});

// First what tells other kinds of result apart.
const bench = object<BenchResult>({
  kind: oneOf("bench"),
  version: oneOf(2),
  date: string,
  machine,
  commit: string,
  command: string,
  note: string,
  scenario,
  cells: list(cell),
});
