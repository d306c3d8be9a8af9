// How often best-effort work may run a slice beside an engine whose steps the data plane sees. What users state is about
// requests, and a request's time per token is the mean length of the steps in its life. So the steps tell within a second
// what a period of slices does to it: the period is the shortest with which each stretch of steps in the last half minute
// would have stayed within the limit. Time to first token is bounded from what a slice can add to it.
import type { EngineStep } from "./engine-step.ts";
import { type Guard, guardOf, noGuard, withCounts } from "./guard.ts";
import {
  partBelow,
  quantileOf,
  type RequestKind,
  type RequestLimits,
  type RequestQuantile,
  type RequestsSeen,
} from "./requests.ts";
import { costOf, noSliceCost, type SliceCost, withSteps } from "./slice-cost.ts";

/** The steps of one look. */
interface Sample {
  readonly atMs: number;
  readonly steps: number;
  readonly decodeUs: number;
  readonly prefillUs: number;
  readonly decodeSlices: number;
  readonly prefillSlices: number;
}

export interface PacingMemory {
  /** When its first step was seen; undefined: none was. */
  readonly sinceMs: number | undefined;
  /** Some step was known to be a prefill step. */
  readonly tellsPrefill: boolean;
  readonly samples: readonly Sample[];
  readonly cost: SliceCost;
  /** The engine's mean time per token over its mean step: below 1 where a step makes several tokens. */
  readonly tokenPerStep: number;
  /** By kind: the latest values, less what slices added to them. us. */
  readonly solo: Readonly<Partial<Record<"ttft" | "e2e", readonly number[]>>>;
  readonly guard: Guard;
}

export const noPacing: PacingMemory = {
  sinceMs: undefined,
  tellsPrefill: false,
  samples: [],
  cost: noSliceCost,
  tokenPerStep: 1,
  solo: {},
  guard: noGuard,
};

/** Slices that the policy gives beside an engine. */
export interface Pace {
  /** From the start of one slice to that of the next. */
  readonly everyUs: number;
  /** Slices also run in steps that read prompts. */
  readonly inPrefill: boolean;
  /** A decode step with its slices, in the mean. */
  readonly decodeUs: number;
}

/** The kind without headroom. */
export interface NoPace {
  readonly limitedBy: RequestKind;
}

const WINDOW_MS = 30_000;
/** About the tokens of a short request: the fewer steps it lives for, the more their mean varies. */
const WINDOW_TOKENS = 64;
const MIN_WINDOW_STEPS = 12;
/** Steps of a few seconds tell little of what may come. */
const MIN_SEEN_MS = 8_000;
const MIN_VALUES = 20;
const MAX_VALUES = 400;
const MEAN_PART = 0.6;
/** Part of a limit that stays unused; more while few steps were seen. */
const MARGIN = 0.04;
const EARLY_MARGIN = 0.1;
const EARLY_MS = 20_000;
/** The engine's own times are means of requests that ended at other paces: a look changes the ratio by this part. */
const RATIO_WEIGHT = 0.1;
const RATIO_LOOKS = 4;
const MIN_RATIO = 0.1;
const MAX_RATIO = 2;
/** A request waits for the rest of the step that runs and for the one that is queued behind it. */
const STEPS_BEFORE_FIRST = 2;

interface Around {
  readonly nowMs: number;
  readonly passedMs: number;
  /** In force since the last look; undefined: none. */
  readonly pace: Pace | undefined;
  readonly sliceUs: number;
  readonly isolated: boolean;
}

/** Adds a look. `limits`: of the objective, whose kinds the guard follows. */
export function withLook(
  was: PacingMemory,
  steps: readonly EngineStep[],
  limits: RequestLimits,
  requests: RequestsSeen,
  around: Around,
): PacingMemory {
  const { nowMs, passedMs, pace, sliceUs, isolated } = around;
  const recent = was.samples.filter(({ atMs }) => atMs > nowMs - WINDOW_MS);
  // Until prefill steps can be told, they count as decode steps, which seem to vary much then.
  const told = was.tellsPrefill || steps.some(({ prefill }) => prefill);
  const samples = told && !was.tellsPrefill ? [] : recent;
  const added = steps.length > 0 ? [...samples, sampleOf(steps, nowMs)] : samples;
  const cost = withSteps(was.cost, steps, passedMs);
  const now = {
    ...was,
    sinceMs: was.sinceMs ?? (steps.length > 0 ? nowMs : undefined),
    tellsPrefill: told,
    samples: added,
    cost,
    guard: withCounts(was.guard, limits, requests, {
      passedMs,
      shares: pace !== undefined,
    }),
  };
  const costUs = costOf(cost, sliceUs, isolated);
  const stretch = pace ? stretchAt(pace.everyUs, costUs) : 1;
  const decodeUs = meanDecode(now, costUs);
  const slack = pace ? sliceUs + STEPS_BEFORE_FIRST * decodeUs * (stretch - 1) : 0;
  return {
    ...now,
    tokenPerStep: tokenPerStepOf(now, requests),
    solo: {
      ttft: withValues(was.solo.ttft, requests?.ttft?.each, (us) =>
        pace?.inPrefill ? Math.max(0, us / stretch - sliceUs) : Math.max(0, us - slack),
      ),
      e2e: withValues(was.solo.e2e, requests?.e2e?.each, (us) => us / stretch),
    },
  };
}

/** undefined: too little is known. */
export function paceOf(
  memory: PacingMemory,
  limits: RequestLimits,
  { nowMs, sliceUs, isolated }: Pick<Around, "nowMs" | "sliceUs" | "isolated">,
): Pace | NoPace | undefined {
  const { sinceMs, samples, cost, tokenPerStep, solo } = memory;
  if (sinceMs === undefined || nowMs - sinceMs < MIN_SEEN_MS) return undefined;
  const costUs = costOf(cost, sliceUs, isolated);
  const life = Math.max(MIN_WINDOW_STEPS, WINDOW_TOKENS * tokenPerStep);
  const windows = windowsOf(samples, costUs, life);
  if (windows.length === 0) return undefined;
  const part = 1 - MARGIN - EARLY_MARGIN * Math.exp(-(nowMs - sinceMs) / EARLY_MS);
  const partOf = (kind: RequestKind) => partThatCounts(quantileOf(limits, kind));
  const within = (kind: RequestKind) => part * (limits[kind] ?? Number.POSITIVE_INFINITY);
  const first = limits.ttft === undefined ? 0 : quantileAt(solo.ttft, partOf("ttft"));
  const whole = limits.e2e === undefined ? 0 : quantileAt(solo.e2e, partOf("e2e"));
  if (first === undefined || whole === undefined) return undefined;
  const meanUs = meanDecode(memory, costUs);
  const perStep = within("tpot") / tokenPerStep;
  // All steps alike, or decode steps alone. A step with a slice is one time between two tokens.
  const everywhere = needs([
    [
      "tpot",
      periodThatHolds(
        partOf("tpot"),
        windows.map(({ decodeUs, prefillUs }) => periodFor(costUs, decodeUs + prefillUs, perStep)),
      ),
    ],
    ["itl", meanUs + costUs <= within("itl") ? 0 : Number.POSITIVE_INFINITY],
    ["ttft", periodFor(costUs, first, within("ttft") - sliceUs)],
    ["e2e", periodFor(costUs, whole, within("e2e"))],
  ]);
  const besidePrefill = needs([
    [
      "tpot",
      periodThatHolds(
        partOf("tpot"),
        windows.map(({ decodeUs, prefillUs }) => periodFor(costUs, decodeUs, perStep - prefillUs)),
      ),
    ],
    ["itl", meanUs + costUs <= within("itl") ? 0 : Number.POSITIVE_INFINITY],
    ["ttft", periodForFirst(costUs, meanUs, within("ttft") - first - sliceUs)],
    ["e2e", periodFor(costUs, whole, within("e2e"))],
  ]);
  const factor = guardOf(memory.guard);
  const decodePart = (everyUs: number) => {
    const { decodeUs, prefillUs } = meanOf(windows);
    const shared = decodeUs * stretchAt(everyUs, costUs);
    return shared / (shared + prefillUs);
  };
  const inPrefill =
    1 / everywhere.everyUs > decodePart(besidePrefill.everyUs) / besidePrefill.everyUs;
  const chosen = inPrefill ? everywhere : besidePrefill;
  const everyUs = factor * Math.max(2 * sliceUs, chosen.everyUs);
  if (!Number.isFinite(everyUs)) return { limitedBy: chosen.kind };
  return { everyUs, inPrefill, decodeUs: meanUs * stretchAt(everyUs, costUs) };
}

export const isPace = (pace: Pace | NoPace | undefined): pace is Pace =>
  pace !== undefined && "everyUs" in pace;

/** The factor by which slices in this period make steps longer. */
const stretchAt = (everyUs: number, costUs: number): number =>
  everyUs > costUs ? everyUs / (everyUs - costUs) : Number.POSITIVE_INFINITY;

/** The shortest period with which what takes `us` alone takes at most `limitUs`. */
function periodFor(costUs: number, us: number, limitUs: number): number {
  if (limitUs === Number.POSITIVE_INFINITY) return 0;
  return us < limitUs ? costUs / (1 - us / limitUs) : Number.POSITIVE_INFINITY;
}

/** With which steps before the first token get longer by at most `slackUs` in all. */
function periodForFirst(costUs: number, decodeUs: number, slackUs: number): number {
  if (slackUs === Number.POSITIVE_INFINITY) return 0;
  return slackUs > 0
    ? costUs + (STEPS_BEFORE_FIRST * decodeUs * costUs) / slackUs
    : Number.POSITIVE_INFINITY;
}

/** The longest period that some kind needs, and that kind. */
function needs(all: readonly (readonly [RequestKind, number])[]) {
  const [kind, everyUs] = all.reduce((most, one) => (one[1] > most[1] ? one : most));
  return { kind, everyUs };
}

function sampleOf(steps: readonly EngineStep[], atMs: number): Sample {
  const sum = (prefills: boolean, of: (step: EngineStep) => number) =>
    steps.reduce((all, step) => (step.prefill === prefills ? all + of(step) : all), 0);
  return {
    atMs,
    steps: steps.length,
    decodeUs: sum(false, ({ us }) => us),
    prefillUs: sum(true, ({ us }) => us),
    decodeSlices: sum(false, ({ slices }) => slices),
    prefillSlices: sum(true, ({ slices }) => slices),
  };
}

interface Window {
  /** Mean time of a step without best-effort work: in decode steps, and in those that read prompts. us. */
  readonly decodeUs: number;
  readonly prefillUs: number;
}

/** One from each look on, as long as a short request lives. */
function windowsOf(samples: readonly Sample[], costUs: number, life: number): readonly Window[] {
  return samples.flatMap((_, from) => {
    const total = { steps: 0, decodeUs: 0, prefillUs: 0 };
    for (let at = from; at < samples.length && total.steps < life; at++) {
      const sample = samples[at];
      if (!sample) break;
      total.steps += sample.steps;
      total.decodeUs += sample.decodeUs - costUs * sample.decodeSlices;
      total.prefillUs += sample.prefillUs - costUs * sample.prefillSlices;
    }
    if (total.steps < life) return [];
    return [
      {
        decodeUs: Math.max(0, total.decodeUs / total.steps),
        prefillUs: Math.max(0, total.prefillUs / total.steps),
      },
    ];
  });
}

function meanOf(windows: readonly Window[]): Window {
  const mean = (of: (window: Window) => number) =>
    windows.reduce((sum, window) => sum + of(window), 0) / windows.length;
  return {
    decodeUs: mean(({ decodeUs }) => decodeUs),
    prefillUs: mean(({ prefillUs }) => prefillUs),
  };
}

/** A step in the mean, without best-effort work. us. */
function meanDecode({ samples }: Pick<PacingMemory, "samples">, costUs: number): number {
  const sum = (of: (sample: Sample) => number) => samples.reduce((all, one) => all + of(one), 0);
  const steps = Math.max(
    1,
    sum((one) => one.steps),
  );
  return Math.max(0, sum((one) => one.decodeUs - costUs * one.decodeSlices) / steps);
}

function tokenPerStepOf({ samples, tokenPerStep }: PacingMemory, requests: RequestsSeen): number {
  const { values = 0, sumUs } = requests?.tpot ?? requests?.itl ?? {};
  const latest = samples.slice(-RATIO_LOOKS);
  const steps = latest.reduce((sum, one) => sum + one.steps, 0);
  const us = latest.reduce((sum, one) => sum + one.decodeUs + one.prefillUs, 0);
  if (values === 0 || sumUs === undefined || us === 0) return tokenPerStep;
  const ratio = Math.min(MAX_RATIO, Math.max(MIN_RATIO, sumUs / values / (us / steps)));
  return tokenPerStep + RATIO_WEIGHT * (ratio - tokenPerStep);
}

const withValues = (
  was: readonly number[] = [],
  each: readonly number[] | undefined,
  solo: (us: number) => number,
): readonly number[] => (each ? [...was, ...each.map(solo)].slice(-MAX_VALUES) : was);

/** The part of the values, or of the stretches of steps, that must hold. Of a mean a little more than half: long ones weigh more. */
const partThatCounts = (quantile: RequestQuantile): number =>
  quantile === "mean" ? MEAN_PART : partBelow[quantile];

/** A quantile, or the largest of fewer values than tell it; undefined: too few. */
function quantileAt(values: readonly number[] = [], part: number): number | undefined {
  if (values.length < MIN_VALUES) return undefined;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)];
}

/** The period with which that part of the stretches of steps holds; of nearly all of them, each. */
function periodThatHolds(part: number, periods: readonly number[]): number {
  if (part >= partBelow.p99) return Math.max(0, ...periods);
  const sorted = periods.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
}
