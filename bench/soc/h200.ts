// From what workloads/partitions/run.py measured to the figures of docs/results/layer-mapping.md: `npx tsx bench/soc/h200.ts RAW.json… OUT.json`.
// Predictions are made here again, from the problems in the raw files.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { upperQuantileOfSorted } from "#core";
import { baselines, makespanMs, type Plan, type Problem, parseProblem, timeline } from "#soc";

interface RawPlan {
  readonly makespanMs: number;
  readonly optimal: boolean;
  readonly networks: readonly {
    readonly name: string;
    readonly groups: readonly { readonly name: string; readonly accelerator: string }[];
  }[];
  readonly priority: Readonly<Record<string, readonly string[]>>;
}

interface RawProblem {
  readonly accelerators: readonly { readonly name: string }[];
  readonly networks: readonly { readonly name: string; readonly groups: readonly object[] }[];
}

interface RawPair {
  readonly pair: string;
  readonly problem: RawProblem;
  readonly plan: RawPlan;
  readonly planWithoutContention: RawPlan;
  readonly answersOff: Readonly<Record<string, readonly number[]>>;
  /** Per way to run them, per round, when each network ended. */
  readonly endsMs: Readonly<Record<string, readonly (readonly number[])[]>>;
}

interface Raw {
  readonly options: { readonly batch: number; readonly rounds: number };
  readonly failed: readonly string[];
  readonly gpu: unknown;
  readonly partitions: Readonly<Record<string, number>>;
  readonly pairs: readonly RawPair[];
  readonly points: unknown;
  readonly networks: Readonly<
    Record<string, { readonly dramGbs: Readonly<Record<string, number>> }>
  >;
  /** Per accelerator and network: beside each load, GB/s, the slowdown of each group. */
  readonly contention: Readonly<
    Record<string, Readonly<Record<string, { readonly groups: [number, (number | null)[]][] }>>>
  >;
  readonly besideSolver?: {
    readonly network: string;
    readonly latenciesMs: { readonly alone: number[][]; readonly beside: number[][] };
  } | null;
}

const files = process.argv.slice(2, -1);
const out = process.argv.at(-1);
if (files.length === 0 || out === undefined) throw new Error("h200.ts RAW.json… OUT.json");

const round = (value: number) => Number(value.toPrecision(4));
function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return round(upperQuantileOfSorted(sorted, q));
}

function planOf(problem: Problem, raw: RawPlan): Plan {
  const accelerator = (name: string) => problem.accelerators.findIndex((one) => one.name === name);
  const network = (name: string) => problem.networks.findIndex((one) => one.name === name);
  return {
    assignment: raw.networks.map(({ groups }) => groups.map((one) => accelerator(one.accelerator))),
    priority: problem.accelerators.map(({ name }) => (raw.priority[name] ?? []).map(network)),
  };
}

const whole = ({ networks }: Problem, on: readonly number[]): Plan => ({
  assignment: networks.map(({ groups }, n) => groups.map(() => on[n] ?? 0)),
  priority: [networks.map((_, n) => n), networks.map((_, n) => n)],
});

/** The model's predictions for every way that it covers. */
function predictions(problem: Problem, raw: RawPair): Record<string, number> {
  const told = (plan: Plan) => makespanMs(timeline(problem, plan));
  return {
    planned: told(planOf(problem, raw.plan)),
    "planned without contention": told(planOf(problem, raw.planWithoutContention)),
    fixed: told(whole(problem, [0, 1])),
    "fixed, the other way": told(whole(problem, [1, 0])),
  };
}

/** The same problem with DRAM traffic, by the GPU's counters, for demands, and slowdowns fitted to those. */
function byCounters({ networks, contention }: Raw, { problem, pair }: RawPair): Problem {
  const changed = {
    ...problem,
    accelerators: problem.accelerators.map(({ name }) => ({
      name,
      slowdown: {
        points: Object.entries(contention[name] ?? {}).flatMap(([network, { groups }]) =>
          groups.flatMap(([gbs, told]) =>
            told.flatMap((slow) =>
              slow === null ? [] : [[networks[network]?.dramGbs[name], gbs, slow]],
            ),
          ),
        ),
      },
    })),
    networks: problem.networks.map(({ name, groups }) => ({
      name,
      groups: groups.map((group) => ({ ...group, demand: networks[name]?.dramGbs })),
    })),
  };
  return parseProblem(JSON.stringify(changed), pair);
}

function pairOf(run: Raw, raw: RawPair) {
  const problem = parseProblem(JSON.stringify(raw.problem), raw.pair);
  const predicted = predictions(problem, raw);
  const counted = predictions(byCounters(run, raw), raw);
  const ways = Object.entries(raw.endsMs).map(([way, rounds]) => {
    const makespans = rounds.map((ends) => Math.max(...ends));
    const ms = quantile(makespans, 0.5);
    const expected = predicted[way];
    return {
      way,
      makespanMs: ms,
      quartilesMs: [quantile(makespans, 0.25), quantile(makespans, 0.75)],
      rounds: rounds.length,
      ...(expected === undefined
        ? {}
        : {
            predictedMs: round(expected),
            measuredOverPredicted: round(ms / expected),
            measuredOverPredictedByDram: round(ms / (counted[way] ?? Number.NaN)),
          }),
    };
  });
  const of = (way: string) => ways.find((one) => one.way === way)?.makespanMs ?? Number.NaN;
  const bestFixed = Math.min(of("fixed"), of("fixed, the other way"));
  return {
    pair: raw.pair,
    optimal: raw.plan.optimal,
    ways,
    plannedOverBestFixed: round(of("planned") / bestFixed),
    plannedOverAllSms: round(
      of("planned") / Math.min(of("all SMs, one after the other"), of("all SMs, both at once")),
    ),
    toldWithoutContentionMs: round(raw.planWithoutContention.makespanMs),
    rivalsPredictedMs: Object.fromEntries(
      baselines(problem).map((one) => [one.name, round(makespanMs(one.timeline))]),
    ),
    answersOff: raw.answersOff,
    assignment: raw.plan.networks.map(({ name, groups }) => ({
      network: name,
      on: groups.map((one) => one.accelerator).join(" "),
    })),
  };
}

function besideOf({ besideSolver }: Raw) {
  if (!besideSolver) return undefined;
  const { network, latenciesMs } = besideSolver;
  const figures = (turns: readonly (readonly number[])[]) => ({
    requests: turns.flat().length,
    p50: quantile(turns.flat(), 0.5),
    p99: quantile(turns.flat(), 0.99),
    p50OfTurns: turns.map((turn) => quantile(turn, 0.5)),
  });
  return { network, alone: figures(latenciesMs.alone), beside: figures(latenciesMs.beside) };
}

const runs = files.map((file) => {
  const raw: Raw = JSON.parse(readFileSync(file, "utf8"));
  // Points are contention and demands put together, once more.
  const { pairs, points, besideSolver, ...rest } = raw;
  return { ...rest, pairs: pairs.map((pair) => pairOf(raw, pair)), besideSolver: besideOf(raw) };
});
for (const { options, pairs } of runs)
  for (const { pair, ways, plannedOverBestFixed, plannedOverAllSms } of pairs) {
    console.log(
      `batch ${options.batch}, ${pair}: ${plannedOverBestFixed} of the best fixed, ${plannedOverAllSms} of all SMs`,
    );
    for (const { way, makespanMs: ms, quartilesMs, measuredOverPredicted } of ways)
      console.log(
        `  ${way}: ${ms} ms (${quartilesMs.join(" to ")}), ${measuredOverPredicted ?? "-"} of predicted`,
      );
  }
writeFileSync(
  out,
  `${JSON.stringify(
    {
      date: "2026-11-21",
      commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
      command:
        "python3 workloads/partitions/run.py --cotenant bin/cotenant-lab --out RAW.json; npx tsx bench/soc/h200.ts RAW.json OUT.json",
      runs,
    },
    null,
    1,
  )}\n`,
);
