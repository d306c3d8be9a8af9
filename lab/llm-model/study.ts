// Best-effort throughput beside an LLM engine, and the effect on the engine's users, in virtual time: alone, by the
// policies `strict` and `cotenant`, and with the largest fixed share of the time that the objectives allow.
import { quantile } from "#core";
import type { LimitsUs } from "#policy";
import { bestFixed } from "./best.ts";
import type { Shape, Traffic } from "./engine.ts";
import { keptIn, type Outcome, played, type Run, windowsOf } from "./played.ts";

export interface Study {
  readonly shape: Shape;
  readonly traffic: Traffic;
  /** undefined: those of `usualLimits`. */
  readonly limits: LimitsUs | undefined;
  /** Length of each run; the first 30 do not count, since the policy learns then. */
  readonly seconds: number;
  readonly seed: number;
}

/** p50 and p99, ms. */
export interface Latencies {
  readonly requests: number;
  readonly ttftMs: readonly [number, number];
  readonly tpotMs: readonly [number, number];
  readonly e2eMs: readonly [number, number];
}

export interface StudyRow extends Latencies {
  readonly name: string;
  /** The part of the windows of 10 s in which the p99 of a kind was above its limit. */
  readonly broken: number;
  /** The part of the time in which the GPU did best-effort work. */
  readonly kept: number;
}

const LEARNS_S = 30;
/** Runs of which the results are taken together. */
const RUNS = 2;
/** Three rows, and the bisections of the best fixed share. */
const USUAL_RUNS = RUNS * (3 + 2 * 6);

/** `tell`: which run begins, and the part of the work that is done, about. */
export function study(
  { shape, traffic, limits: stated, seconds, seed }: Study,
  tell: (what: string, part: number) => void,
): { readonly limits: LimitsUs; readonly rows: readonly StudyRow[] } {
  const common = { shape, traffic, seconds: LEARNS_S + seconds };
  let what = "the engine alone";
  let done = 0;
  const run = (limits: LimitsUs, fixed?: Run["fixed"]) =>
    Array.from({ length: RUNS }, (_, i) => {
      tell(`${what}, run ${i + 1} of ${RUNS}`, Math.min(done++ / USUAL_RUNS, 0.99));
      return played({ ...common, limits, seed: seed + i, ...(fixed !== undefined && { fixed }) });
    });
  const alone = run({}, "alone");
  const limits = stated ?? usualLimits(alone);
  const row = (name: string, outcomes: readonly Outcome[]): StudyRow => ({
    name,
    ...figures(outcomes, limits, common.seconds),
  });
  what = "strict";
  const strict = row("strict", run(limits, "strict"));
  what = "cotenant";
  const rows = [row("alone", alone), strict, row("cotenant", run(limits))];
  const best = bestFixed(
    strict.broken,
    (fixed) => row("best fixed share", run(limits, fixed)),
    (low, high) => {
      what = `the best fixed share, of ${percent(low)} to ${percent(high)}`;
    },
  );
  return { limits, rows: best ? [...rows, best] : rows };
}

const percent = (share: number) => `${(100 * share).toFixed(0)} %`;

const p99 = (outcomes: readonly Outcome[], kind: "ttft" | "tpot") =>
  quantile(
    outcomes.flatMap(({ served }) => served.map((one) => one[kind])),
    0.99,
  );

/** Twice the TTFT and 1.5 times the TPOT, at the p99 of an engine alone, in us. */
export const usualLimits = (alone: readonly Outcome[]) => ({
  ttft: 2000 * p99(alone, "ttft"),
  tpot: 1500 * p99(alone, "tpot"),
});

function figures(outcomes: readonly Outcome[], limits: LimitsUs, seconds: number) {
  const served = outcomes.flatMap((one) =>
    one.served.filter(({ arrivedMs }) => arrivedMs >= 1000 * LEARNS_S),
  );
  const windows = outcomes.map((one) => windowsOf(one, limits, LEARNS_S, seconds));
  const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);
  const of = (kind: "ttft" | "tpot" | "e2e") =>
    [0.5, 0.99].map((q) =>
      quantile(
        served.map((one) => one[kind]),
        q,
      ),
    );
  const pair = ([p50 = Number.NaN, p99 = Number.NaN]: readonly number[]) => [p50, p99] as const;
  return {
    requests: served.length,
    ttftMs: pair(of("ttft")),
    tpotMs: pair(of("tpot")),
    e2eMs: pair(of("e2e")),
    broken: sum(windows.map(({ broken }) => broken)) / sum(windows.map(({ windows: n }) => n)),
    kept: sum(outcomes.map((one) => keptIn(one, LEARNS_S))) / outcomes.length,
  };
}
