// A request's time per token is the mean length of the steps in its life. The period of slices is
// the shortest with which each stretch of steps in the last half minute, and the windows that users
// judge by (blocks.ts), would have kept the limit.
import { type Blocks, type Expected, extremeOf, lostIn, noBlocks, withBlock } from "./blocks.ts";
import type { EngineStep } from "./engine-step.ts";
import { isFull, noQueue, type Queue, withQueue } from "./queue.ts";
import {
  limitUsOf,
  partBelow,
  quantileOf,
  type RequestKind,
  type RequestLimits,
  type RequestQuantile,
  type RequestSample,
} from "./requests.ts";
import {
  factorFor,
  meanStepUs,
  type Sample,
  type Steps,
  sampleOf,
  stepsOf,
  stretchesOf,
} from "./samples.ts";
import {
  costOf,
  DITHER,
  type Dither,
  noSliceCost,
  type SliceCost,
  withSteps,
} from "./slice-cost.ts";
import { atTrueEnds } from "./true-ends.ts";

const judgedKinds = ["ttft", "tpot", "e2e"] as const;
type Judged = (typeof judgedKinds)[number];

/** Prompts differ much in length, and steps little. */
const VARIATION: Readonly<Record<Judged, number>> = { ttft: 0.25, tpot: 0.06, e2e: 0.2 };

export interface PacingMemory {
  readonly sinceMs: number | undefined; // first step; undefined: none was seen
  readonly tellsPrefill: boolean; // a prefill step was recognised
  readonly samples: readonly Sample[];
  readonly last: EngineStep | undefined; // the next one tells its end
  readonly cost: SliceCost;
  readonly tokenPerStep: number; // below 1 a step makes several tokens
  readonly solo: Readonly<Record<Judged, Blocks>>;
  readonly queue: Queue;
}

export const noPacing: PacingMemory = {
  sinceMs: undefined,
  tellsPrefill: false,
  samples: [],
  last: undefined,
  cost: noSliceCost,
  tokenPerStep: 1,
  solo: { ttft: noBlocks, tpot: noBlocks, e2e: noBlocks },
  queue: noQueue,
};

export interface Pace {
  readonly everyUs: number; // the mean: it differs from phase to phase
  readonly dither?: Dither;
  readonly inPrefill: boolean;
  readonly decodeUs: number;
  readonly limitedBy: RequestKind;
}

export interface NoHeadroom {
  readonly limitedBy: RequestKind;
}

const WINDOW_MS = 30_000;
const WINDOW_TOKENS = 64;
const MIN_WINDOW_STEPS = 12;
const MIN_SEEN_MS = 8_000; // steps of a few seconds say little
const MEAN_PART = 0.6;
/** While a load rises fourfold, requests take up to 2 % longer than steps tell. */
const MARGIN = 0.03;
/** In slices. Side by side, best-effort work need not make way for requests half of the time. */
const MIN_PERIOD = { isolated: 2, mps: 1.25 } as const;
const RATIO_WEIGHT = 0.1;
const RATIO_LOOKS = 4;
const MIN_RATIO = 0.1;
const MAX_RATIO = 2;
const LATEST_STRETCHES = 8;
const LATEST_LOOKS = 8;
const LONGEST = 0.1;
const STEPS_BEFORE_FIRST = 2; // one runs, and one is queued behind it

interface Context {
  readonly nowMs: number;
  readonly passedMs: number;
  readonly pace: Pace | undefined; // in force since the last sample
  readonly sliceUs: number;
  readonly isolated: boolean;
}

export function withSample(
  was: PacingMemory,
  ended: readonly EngineStep[],
  limits: RequestLimits,
  requests: RequestSample,
  around: Context,
): PacingMemory {
  const { nowMs, pace, sliceUs, isolated } = around;
  const recent = was.samples.filter(({ atMs }) => atMs > nowMs - WINDOW_MS);
  const formerUs = costOf(was.cost, sliceUs, isolated);
  const { steps, last } = atTrueEnds(was.last, ended, was.cost.usualUs, formerUs);
  const told = was.tellsPrefill || steps.some(({ prefill }) => prefill);
  const samples = told && !was.tellsPrefill ? [] : recent;
  const added = steps.length > 0 ? [...samples, sampleOf(steps, nowMs)] : samples;
  const cost = withSteps(was.cost, steps, { ...around, dither: pace?.dither });
  const now = {
    ...was,
    sinceMs: was.sinceMs ?? (steps.length > 0 ? nowMs : undefined),
    tellsPrefill: told,
    samples: added,
    last,
    cost,
    queue: withQueue(was.queue, requests, around.passedMs),
  };
  const costUs = costOf(cost, sliceUs, isolated);
  const stretch = pace ? slowdownAt(pace.everyUs, costUs) : 1;
  const { decodeUs } = stepsOf(added, costUs);
  const slack = pace ? sliceUs + STEPS_BEFORE_FIRST * decodeUs * (stretch - 1) : 0;
  const latest = stepsOf(added.slice(-LATEST_LOOKS), costUs);
  const inPrefill = pace?.inPrefill ?? false;
  const soloUs = meanStepUs(latest, 1, inPrefill);
  const { all, decode } = latest.factors;
  const besideUs = meanStepUs(latest, inPrefill ? all : decode, inPrefill);
  const factor = besideUs > 0 ? besideUs / soloUs : 1;
  const addedUs = was.tokenPerStep * (besideUs - soloUs);
  const withKind = (kind: Judged, solo: (us: number) => number) => {
    const { each, values = 0, sumUs } = requests?.[kind] ?? {};
    const times = each ?? (values > 0 && sumUs !== undefined ? [sumUs / values] : []);
    return withBlock(
      was.solo[kind],
      times.map((us) => ({ us, soloUs: solo(us) })),
      {
        ...{ nowMs, limitUs: limitUsOf(limits, kind) },
        ...{ shares: pace !== undefined, judged: judgedBy(limits, kind) },
      },
    );
  };
  return {
    ...now,
    tokenPerStep: tokenPerStepOf(now, requests),
    solo: {
      ttft: withKind("ttft", (us) =>
        inPrefill ? Math.max(0, us / stretch - sliceUs) : Math.max(0, us - slack),
      ),
      tpot: withKind("tpot", (us) =>
        inPrefill ? us / factor : Math.max(us / factor, us - addedUs),
      ),
      e2e: withKind("e2e", (us) => us / factor),
    },
  };
}

export function paceOf(
  memory: PacingMemory,
  limits: RequestLimits,
  { nowMs, sliceUs, isolated }: Pick<Context, "nowMs" | "sliceUs" | "isolated">,
): Pace | NoHeadroom | undefined {
  const { sinceMs, samples, cost, tokenPerStep, solo } = memory;
  if (sinceMs === undefined || nowMs - sinceMs < MIN_SEEN_MS) return undefined;
  if (limits.ttft && isFull(memory.queue, limits.ttft.limitUs)) return { limitedBy: "ttft" };
  const costUs = costOf(cost, sliceUs, isolated);
  const life = Math.max(MIN_WINDOW_STEPS, WINDOW_TOKENS * tokenPerStep);
  const stretches = stretchesOf(samples, costUs, life);
  if (stretches.length === 0) return undefined;
  const within = (kind: RequestKind) => (1 - MARGIN) * limitUsOf(limits, kind);
  const lost = new Set(
    judgedKinds.flatMap((kind) =>
      limits[kind] ? lostIn(solo[kind], limitUsOf(limits, kind)) : [],
    ),
  );
  const extreme = (kind: Judged) =>
    limits[kind] === undefined
      ? 0
      : extremeOf(solo[kind], within(kind), nowMs, { ...judgedBy(limits, kind), lost });
  const [first, whole, token] = [extreme("ttft"), extreme("e2e"), extreme("tpot")];
  if (first === undefined || whole === undefined || token === undefined) return undefined;
  const usual = stepsOf(samples, costUs);
  const meanUs = usual.decodeUs;
  // In the longest stretches more requests are served at once.
  const longest = { ...usual, decodeUs: longestDecodeUs(stretches) };
  const latest = [
    ...stretches.slice(-LATEST_STRETCHES),
    stepsOf(samples.slice(-LATEST_LOOKS), costUs),
  ];
  const perStep = within("tpot") / tokenPerStep;
  const partOf = partThatCounts(quantileOf(limits, "tpot"));
  const needed = (inPrefills: boolean): Needs => {
    const period = (steps: Steps, us: number) =>
      periodFor(costUs, factorFor(steps, us, inPrefills));
    const soloUs = meanStepUs(longest, 1, inPrefills);
    return [
      // In both ways a step with a slice is one time between two tokens.
      ["itl", meanUs + costUs <= within("itl") ? 0 : Number.POSITIVE_INFINITY],
      ["e2e", whole > 0 ? period(longest, (soloUs * within("e2e")) / whole) : 0],
      [
        "tpot",
        Math.max(
          period(longest, soloUs + (within("tpot") - token) / tokenPerStep),
          periodThatHolds(
            partOf,
            latest.map((steps) => period(steps, perStep)),
          ),
        ),
      ],
    ];
  };
  const everywhere = needs([
    ...needed(true),
    [
      "ttft",
      periodFor(costUs, first > 0 ? (within("ttft") - sliceUs) / first : Number.POSITIVE_INFINITY),
    ],
  ]);
  const besidePrefill = needs([
    ...needed(false),
    ["ttft", periodForFirst(costUs, meanUs, within("ttft") - first - sliceUs)],
  ]);
  const factor = Math.max(...Object.values(solo).map(({ caution }) => caution));
  const decodePart = 1 - usual.prefillsPerUs * usual.prefillUs;
  const leastUs = MIN_PERIOD[isolated ? "isolated" : "mps"] * sliceUs;
  const rate = ({ everyUs }: { everyUs: number }) => 1 / Math.max(leastUs, everyUs);
  const inPrefill = !memory.tellsPrefill || rate(everywhere) > decodePart * rate(besidePrefill);
  const chosen = inPrefill ? everywhere : besidePrefill;
  const everyUs = factor * Math.max(leastUs, chosen.everyUs);
  if (!Number.isFinite(everyUs)) return { limitedBy: chosen.kind };
  const decodeUs = meanUs * slowdownAt(everyUs, costUs);
  return { everyUs, inPrefill, decodeUs, limitedBy: chosen.kind };
}

export const factorAt = (
  { cost }: PacingMemory,
  { everyUs }: Pace,
  { sliceUs, isolated }: Pick<Context, "sliceUs" | "isolated">,
): number => slowdownAt(everyUs, costOf(cost, sliceUs, isolated));

export const withoutCorrection = (was: PacingMemory): PacingMemory => ({
  ...was,
  solo: {
    ttft: { ...was.solo.ttft, caution: 1 },
    tpot: { ...was.solo.tpot, caution: 1 },
    e2e: { ...was.solo.e2e, caution: 1 },
  },
});

/** The period in this phase. */
export const periodNow = ({ everyUs, dither }: Pace): number =>
  everyUs * (1 + (dither?.sign ?? 0) * DITHER);

export const isPace = (pace: Pace | NoHeadroom | undefined): pace is Pace =>
  pace !== undefined && "everyUs" in pace;

const slowdownAt = (everyUs: number, costUs: number): number =>
  everyUs > costUs ? everyUs / (everyUs - costUs) : Number.POSITIVE_INFINITY;

/** The period with which slices make steps at most `factor` times as long. */
const periodFor = (costUs: number, factor: number): number => {
  if (factor === Number.POSITIVE_INFINITY) return 0;
  return factor > 1 ? costUs / (1 - 1 / factor) : Number.POSITIVE_INFINITY;
};

/** Steps before the first token get longer by at most `slackUs` in all. */
function periodForFirst(costUs: number, decodeUs: number, slackUs: number): number {
  if (slackUs === Number.POSITIVE_INFINITY) return 0;
  return slackUs > 0
    ? costUs + (STEPS_BEFORE_FIRST * decodeUs * costUs) / slackUs
    : Number.POSITIVE_INFINITY;
}

function longestDecodeUs(stretches: readonly Steps[]): number {
  const total = (steps: Steps) => meanStepUs(steps, 1, false);
  const longest = stretches
    .toSorted((a, b) => total(b) - total(a))
    .slice(0, Math.ceil(LONGEST * stretches.length));
  return longest.reduce((sum, { decodeUs }) => sum + decodeUs, 0) / longest.length;
}

type Needs = readonly (readonly [RequestKind, number])[];

function needs(all: Needs) {
  const [kind, everyUs] = all.reduce((most, one) => (one[1] > most[1] ? one : most));
  return { kind, everyUs };
}

function tokenPerStepOf({ samples, tokenPerStep }: PacingMemory, requests: RequestSample): number {
  const { values = 0, sumUs } = requests?.tpot ?? requests?.itl ?? {};
  const latest = samples.slice(-RATIO_LOOKS);
  const steps = latest.reduce((sum, one) => sum + one.steps, 0);
  const us = latest.reduce((sum, one) => sum + one.decodeUs + one.prefillUs, 0);
  if (values === 0 || sumUs === undefined || us === 0) return tokenPerStep;
  const ratio = Math.min(MAX_RATIO, Math.max(MIN_RATIO, sumUs / values / (us / steps)));
  return tokenPerStep + RATIO_WEIGHT * (ratio - tokenPerStep);
}

/** A mean needs a little more than half, because long values weigh more. */
const partThatCounts = (quantile: RequestQuantile): number =>
  quantile === "mean" ? MEAN_PART : partBelow[quantile];

function judgedBy(limits: RequestLimits, kind: Judged): Expected {
  const quantile = quantileOf(limits, kind);
  return {
    variation: VARIATION[kind],
    eachWindow: quantile === "p99",
    statistic: (values) => statisticOf(values, quantile),
  };
}

function statisticOf(values: readonly number[], quantile: RequestQuantile): number {
  if (quantile === "mean") return values.reduce((sum, us) => sum + us, 0) / values.length;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(partBelow[quantile] * sorted.length) - 1] ?? 0;
}

function periodThatHolds(part: number, periods: readonly number[]): number {
  if (part >= partBelow.p99) return Math.max(0, ...periods);
  const sorted = periods.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
}
