// Results of several calls as rows. What was measured more than once becomes one row, with its spread.
import type { Ratio } from "#measure";
import type { BenchResult, BothQuantiles, Cell } from "../scenario/result.ts";

/** The same jobs under the same load on the same kind of GPU. */
export interface Pair {
  readonly high: string;
  readonly bestEffort: readonly string[];
  readonly load: number | undefined;
  readonly arrivals: string;
  readonly gpu: string;
  readonly results: readonly BenchResult[];
  readonly rows: readonly Row[];
}

/** A mean over runs. Its interval goes from the lowest low to the highest high. */
export interface Merged {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** A mean over runs in ms, and ratios to solo. */
export interface Tokens {
  readonly ms: { readonly p50: number | undefined; readonly p99: number | undefined };
  readonly ratio: { readonly p50: Merged | undefined; readonly p99: Merged | undefined };
}

/** One arrangement of a pair. A figure that no run measured is undefined. */
export interface Row {
  readonly arrangement: string;
  /** The number of runs that succeeded. All figures are over these. */
  readonly runs: number;
  /** For each run that failed, the first line of the reason. */
  readonly failures: readonly string[];
  /** The largest deviation of a run's burst p50 from the mean, or of its rate if it has no bursts; 0.02 is 2 %. */
  readonly spread: number | undefined;
  /** The sum over the runs. */
  readonly requests: number | undefined;
  readonly latencyMs: { readonly p50: number | undefined; readonly p99: number | undefined };
  readonly burstMs: { readonly p50: number | undefined; readonly p99: number | undefined };
  /** The p99. */
  readonly waitedMs: number | undefined;
  readonly latency: { readonly p50: Merged | undefined; readonly p99: Merged | undefined };
  readonly burst: { readonly p50: Merged | undefined; readonly p99: Merged | undefined };
  readonly throughput: Merged | undefined;
  /** For a service that makes its answers token by token: time to first token, time per output token. */
  readonly ttft: Tokens | undefined;
  readonly tpot: Tokens | undefined;
  readonly kept: Merged | undefined;
  /** For each best-effort job, in the pair's order. */
  readonly perS: readonly (number | undefined)[];
  readonly ofPossible: number | undefined;
  readonly smActivity: number | undefined;
  readonly dramActivity: number | undefined;
  readonly pcieInMiBs: number | undefined;
  readonly smClockMHz: number | undefined;
  readonly powerW: number | undefined;
}

/** Pairs in the order of their first results, rows in the order in which arrangements are compared. */
export function merge(results: readonly BenchResult[]): Pair[] {
  return [...groupBy(results, pairKey).values()].flatMap((same) => {
    const [first] = same;
    if (!first) return [];
    const cells = groupBy(
      same.flatMap((result) => result.cells),
      (cell) => cell.arrangement,
    );
    const { scenario, machine } = first;
    return {
      high: scenario.high.name,
      bestEffort: scenario.bestEffort.map((job) => job.name),
      load: scenario.load,
      arrivals: scenario.arrivals,
      gpu: machine.gpu,
      results: same,
      rows: [...cells]
        .sort(([a], [b]) => compareArrangements(a, b))
        .map(([arrangement, of]) => mergeCells(arrangement, of, scenario.bestEffort.length)),
    };
  });
}

function groupBy<T>(all: readonly T[], key: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(key(one));
    if (group) group.push(one);
    else groups.set(key(one), [one]);
  }
  return groups;
}

/** Equal for results of one pair. Loads that are written alike are equal. */
export const pairKey = ({ scenario, machine }: BenchResult): string =>
  JSON.stringify([
    scenario.high.name,
    scenario.bestEffort.map((job) => job.name),
    scenario.load?.toFixed(2),
    scenario.arrivals,
    machine.gpu,
  ]);

function mergeCells(arrangement: string, cells: readonly Cell[], jobs: number): Row {
  const good = cells.filter((cell) => cell.status === "ok");
  const high = good.flatMap((cell) => cell.high ?? []);
  const bestEffort = good.flatMap((cell) => cell.bestEffort ?? []);
  const gpu = good.flatMap((cell) => cell.gpu ?? []);
  const isSolo = arrangement === "solo";
  const perS = Array.from({ length: jobs }, (_, i) =>
    mean(bestEffort.map((one) => one.jobs[i]?.perS)),
  );
  return {
    arrangement,
    runs: good.length,
    failures: cells.filter((cell) => cell.status === "failed").map(firstLine),
    spread: spread(
      high.length > 0
        ? high.map(({ burst, burstMs }) => (isSolo ? burstMs.p50 : burst.p50.value))
        : bestEffort.map((one) => one.jobs.reduce((sum, job) => sum + job.perS, 0)),
    ),
    requests: high.length > 0 ? high.reduce((sum, one) => sum + one.requests, 0) : undefined,
    latencyMs: {
      p50: mean(high.map(({ latencyMs }) => latencyMs.p50)),
      p99: mean(high.map(({ latencyMs }) => latencyMs.p99)),
    },
    burstMs: {
      p50: mean(high.map(({ burstMs }) => burstMs.p50)),
      p99: mean(high.map(({ burstMs }) => burstMs.p99)),
    },
    waitedMs: mean(high.map(({ waitedMs }) => waitedMs?.p99)),
    latency: {
      p50: mergeRatios(high.map(({ latency }) => latency.p50)),
      p99: mergeRatios(high.map(({ latency }) => latency.p99)),
    },
    burst: {
      p50: mergeRatios(high.map(({ burst }) => burst.p50)),
      p99: mergeRatios(high.map(({ burst }) => burst.p99)),
    },
    throughput: mergeRatios(high.map((one) => one.throughput)),
    ttft: mergeTokens(high.map(({ ttft }) => ttft)),
    tpot: mergeTokens(high.map(({ tpot }) => tpot)),
    kept: mergeRatios(bestEffort.map((one) => one.retained)),
    perS,
    ofPossible: mean(bestEffort.map((one) => one.retainedOfPossible)),
    smActivity: mean(gpu.map((one) => one.smActivity)),
    dramActivity: mean(gpu.map((one) => one.dramActivity)),
    pcieInMiBs: mean(gpu.map((one) => one.pcieInMiBs)),
    smClockMHz: mean(gpu.map((one) => one.smClockMHz)),
    powerW: mean(gpu.map((one) => one.powerW)),
  };
}

const known = (values: readonly (number | undefined)[]): number[] =>
  values.filter((value) => value !== undefined && Number.isFinite(value)) as number[];

function mean(values: readonly (number | undefined)[]): number | undefined {
  const all = known(values);
  return all.length > 0 ? all.reduce((sum, value) => sum + value, 0) / all.length : undefined;
}

function mergeTokens(all: readonly (BothQuantiles | undefined)[]): Tokens | undefined {
  const told = all.filter((one) => one !== undefined);
  if (told.length === 0) return undefined;
  return {
    ms: { p50: mean(told.map(({ ms }) => ms.p50)), p99: mean(told.map(({ ms }) => ms.p99)) },
    ratio: {
      p50: mergeRatios(told.map((one) => one.ratio.p50)),
      p99: mergeRatios(told.map((one) => one.ratio.p99)),
    },
  };
}

function mergeRatios(ratios: readonly Ratio[]): Merged | undefined {
  const value = mean(ratios.map((ratio) => ratio.value));
  if (value === undefined) return undefined;
  return {
    value,
    low: Math.min(value, ...known(ratios.map((ratio) => ratio.low))),
    high: Math.max(value, ...known(ratios.map((ratio) => ratio.high))),
  };
}

function spread(values: readonly number[]): number | undefined {
  const middle = mean(values);
  if (!middle) return undefined;
  return Math.max(...known(values).map((value) => Math.abs(value / middle - 1)));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours that a job's last words may carry
const COLOURS = /\u001b\[[0-9;]*m/g;

const firstLine = (cell: Cell): string =>
  (cell.reason ?? "")
    .replace(COLOURS, "")
    .split(/\r?\n|\r/)
    .map((line) => line.trim())
    .find((line) => line !== "") ?? "no reason given";

/** The sides alone first, then what there is without Cotenant, then Cotenant, then the bounds. */
const order = [
  /^solo$/,
  /^solo@/,
  /^alone$/,
  /^alone@/,
  /^time-slicing$/,
  /^streams$/,
  /^mps$/,
  /^mps-/,
  /^(?!floor)/,
  /^floor/,
];

function compareArrangements(a: string, b: string): number {
  const rank = (name: string) => order.findIndex((pattern) => pattern.test(name));
  return rank(a) - rank(b) || (a < b ? -1 : Number(a > b));
}

/** Every arrangement of some pair, in order. */
export const arrangementsOf = (pairs: readonly Pair[]): string[] =>
  [...new Set(pairs.flatMap(({ rows }) => rows.map((row) => row.arrangement)))].sort(
    compareArrangements,
  );
