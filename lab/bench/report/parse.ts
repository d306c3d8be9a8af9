// Reads a result file. Required fields follow from the type; other fields are left out.

import { type Field, type Refusal, readJson, UserError, withPlace } from "#core";
import type { Machine, Noise, Ratio } from "#measure";
import type {
  BenchResult,
  BestEffortFigures,
  BothQuantiles,
  Cell,
  GpuFigures,
  HighFigures,
  JobFacts,
  ScenarioFacts,
  StepFigures,
} from "../scenario/result.ts";

/** Throws a UserError that names the file, the line and the field. */
export const parseResult = (text: string, path: string): BenchResult =>
  bench(readJson(text, path, badResult));

const badResult: Refusal = (file, place, what, hint) =>
  new UserError(
    "BAD_RESULT",
    withPlace(file, place, what),
    hint || "It must be a result of the bench, version 2.",
  );

type Reader<T> = (field: Field) => T;

const string: Reader<string> = (field) => (field.value === "" ? "" : field.text());

const number: Reader<number> = (field) => field.number({ least: -Infinity });

/** JSON writes NaN, which stands for a missing figure, as null. */
const figure: Reader<number> = (field) => (field.value === null ? Number.NaN : number(field));

const maybe =
  <T>(read: Reader<T>): Reader<T | undefined> =>
  (field) =>
    field.value === null ? undefined : field.optional(read);

const list =
  <T>(read: Reader<T>): Reader<readonly T[]> =>
  (field) =>
    field.list().map(read);

const facts: Reader<Readonly<Record<string, unknown>>> = (field) => ({ ...field.object() });

function object<T extends object>(readers: { readonly [K in keyof T]-?: Reader<T[K]> }): Reader<T> {
  return (field) => {
    const read = Object.entries<Reader<unknown>>(readers)
      .map(([key, reader]) => [key, reader(field.at(key))] as const)
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

const both = object<BothQuantiles>({
  ms: object<BothQuantiles["ms"]>({ p50: figure, p99: figure }),
  ratio: object<BothQuantiles["ratio"]>({ p50: ratio, p99: ratio }),
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
  ttft: maybe(both),
  tpot: maybe(both),
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

const numbers: Reader<Readonly<Record<string, number>>> = (field) =>
  Object.fromEntries(field.entries().map(([key, one]) => [key, number(one)]));

const cell = object<Cell>({
  arrangement: string,
  status: (field) => field.one(["ok", "failed"]),
  reason: maybe(string),
  rules: maybe(numbers),
  high: maybe(high),
  bestEffort: maybe(bestEffort),
  gpu: maybe(gpu),
  steps: maybe(list(step)),
});

const noise = object<Noise>({
  noisy: (field) => field.boolean(),
  spread: maybe(number),
  cpu: object<Noise["cpu"]>({
    busyBefore: maybe(number),
    stealShare: maybe(number),
    waitShare: maybe(number),
  }),
  sentence: string,
});

// The fields that distinguish kinds of results come first.
const bench = object<BenchResult>({
  kind: (field) => field.one(["bench"]),
  version: (field) => field.one([2]),
  date: string,
  machine,
  commit: string,
  command: string,
  note: string,
  scenario,
  cells: list(cell),
  noise: maybe(noise),
});
