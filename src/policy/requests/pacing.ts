// How often best-effort work may run a slice concurrent with an engine whose steps the data plane sees. What users state is about
// requests, and a request's time per token is the mean length of the steps in its life. So the steps tell within a second
// what a period of slices does to it: the period is the shortest with which each stretch of steps in the last half minute
// would have stayed within the limit, and with which the windows that users judge by hold, as far as those of the last minutes
// tell (blocks.ts). Time to first token is bounded from what a slice can add to it.
import { type Blocks, type Expected, extremeOf, noBlocks, withBlock } from "./blocks.ts";
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
  decodesOfLongest,
  factorOf,
  meanOf,
  meanSteps,
  type Sample,
  sampleOf,
  slicesPerStep,
  stretchesOf,
  stretchOf,
} from "./samples.ts";
import { costOf, noSliceCost, type SliceCost, withSteps } from "./slice-cost.ts";
import { atTrueEnds } from "./true-ends.ts";

type Judged = "ttft" | "tpot" | "e2e";

/** The expected deviation of windows, as a part of their mean: prompts differ much in length, and steps little. */
const VARIATION: Readonly<Record<Judged, number>> = { ttft: 0.25, tpot: 0.06, e2e: 0.2 };

export interface PacingMemory {
  /** When its first step was seen; undefined: none was. */
  readonly sinceMs: number | undefined;
  /** Some step was known to be a prefill step. */
  readonly tellsPrefill: boolean;
  readonly samples: readonly Sample[];
  /** The last step, which waits for the next one to tell where it ended. */
  readonly last: EngineStep | undefined;
  readonly cost: SliceCost;
  /** The engine's mean time per token over its mean step: below 1 where a step makes several tokens. */
  readonly tokenPerStep: number;
  /** By kind: values less what slices added to them, by windows. */
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

/** Slices that the policy gives beside an engine. */
export interface Pace {
  /** From the start of one slice to that of the next. */
  readonly everyUs: number;
  /** Slices also run in steps that read prompts. */
  readonly inPrefill: boolean;
  /** A decode step with its slices, in the mean. */
  readonly decodeUs: number;
  /** The kind that leaves the least room. */
  readonly limitedBy: RequestKind;
}

/** The kind without headroom. */
export interface NoHeadroom {
  readonly limitedBy: RequestKind;
}

const WINDOW_MS = 30_000;
/** About the tokens of a short request: the fewer steps it lives for, the more their mean varies. */
const WINDOW_TOKENS = 64;
const MIN_WINDOW_STEPS = 12;
/** Steps of a few seconds tell little of what may come. */
const MIN_SEEN_MS = 8_000;
const MEAN_PART = 0.6;
/** Part of a limit that stays unused. While a load rises fourfold, requests take up to 2 % longer than the steps before them tell. */
const MARGIN = 0.03;
/** The engine's own times are means of requests that ended at other paces: a sample changes the ratio by this part. */
const RATIO_WEIGHT = 0.1;
const RATIO_LOOKS = 4;
const MIN_RATIO = 0.1;
const MAX_RATIO = 2;
/** Stretches that ended in the last seconds tell when the load rises. */
const LATEST_STRETCHES = 8;
/** About the life of a request. */
const LATEST_LOOKS = 8;
/** A request waits for the rest of the step that runs and for the one that is queued behind it. */
const STEPS_BEFORE_FIRST = 2;

interface Context {
  readonly nowMs: number;
  readonly passedMs: number;
  /** In force since the last sample; undefined: none. */
  readonly pace: Pace | undefined;
  readonly sliceUs: number;
  readonly isolated: boolean;
}

/** Adds a sample. `limits`: of the objective. */
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
  // Until prefill steps can be told, they count as decode steps, which seem to vary much then.
  const told = was.tellsPrefill || steps.some(({ prefill }) => prefill);
  const samples = told && !was.tellsPrefill ? [] : recent;
  const added = steps.length > 0 ? [...samples, sampleOf(steps, nowMs)] : samples;
  const cost = withSteps(was.cost, steps, around);
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
  const { decodeUs } = meanSteps(added, costUs);
  const slack = pace ? sliceUs + STEPS_BEFORE_FIRST * decodeUs * (stretch - 1) : 0;
  const latest = added.slice(-LATEST_LOOKS);
  const factor = factorOf(latest, costUs);
  // A request lives through the same steps as others do, whatever else takes it longer.
  const addedUs = was.tokenPerStep * costUs * slicesPerStep(latest);
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
        pace?.inPrefill ? Math.max(0, us / stretch - sliceUs) : Math.max(0, us - slack),
      ),
      tpot: withKind("tpot", (us) =>
        pace?.inPrefill ? us / factor : Math.max(us / factor, us - addedUs),
      ),
      e2e: withKind("e2e", (us) => us / factor),
    },
  };
}

/** undefined: too little is known. */
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
  const extreme = (kind: Judged) =>
    limits[kind] === undefined
      ? 0
      : extremeOf(solo[kind], within(kind), nowMs, judgedBy(limits, kind));
  const [first, whole, token] = [extreme("ttft"), extreme("e2e"), extreme("tpot")];
  if (first === undefined || whole === undefined || token === undefined) return undefined;
  const means = meanSteps(samples, costUs);
  const meanUs = means.decodeUs;
  const latest = [
    ...stretches.slice(-LATEST_STRETCHES),
    stretchOf(samples.slice(-LATEST_LOOKS), costUs),
  ];
  const perStep = within("tpot") / tokenPerStep;
  const partOf = partThatCounts(quantileOf(limits, "tpot"));
  // In both ways a step with a slice is one time between two tokens.
  const inBoth: Needs = [
    ["itl", meanUs + costUs <= within("itl") ? 0 : Number.POSITIVE_INFINITY],
    ["e2e", periodFor(costUs, whole, within("e2e"))],
  ];
  const everywhere = needs([
    ...inBoth,
    [
      "tpot",
      Math.max(
        periodFor(costUs, token, within("tpot")),
        periodThatHolds(
          partOf,
          latest.map(({ decodeUs, prefillUs }) => periodFor(costUs, decodeUs + prefillUs, perStep)),
        ),
      ),
    ],
    ["ttft", periodFor(costUs, first, within("ttft") - sliceUs)],
  ]);
  const decodes = Math.min(token, tokenPerStep * decodesOfLongest(stretches));
  const besidePrefill = needs([
    ...inBoth,
    [
      "tpot",
      Math.max(
        periodFor(costUs, decodes, within("tpot") - (token - decodes)),
        periodThatHolds(
          partOf,
          latest.map(({ decodeUs, prefillUs }) => periodFor(costUs, decodeUs, perStep - prefillUs)),
        ),
      ),
    ],
    ["ttft", periodForFirst(costUs, meanUs, within("ttft") - first - sliceUs)],
  ]);
  const factor = Math.max(...Object.values(solo).map(({ caution }) => caution));
  const partOfDecodes = (everyUs: number) => {
    const { decodeUs, prefillUs } = meanOf(stretches);
    const shared = decodeUs * slowdownAt(everyUs, costUs);
    return shared / (shared + prefillUs);
  };
  // Where prefill steps can't be told, slices run in them until they are older than decode steps.
  const inPrefill =
    !memory.tellsPrefill ||
    1 / everywhere.everyUs > partOfDecodes(besidePrefill.everyUs) / besidePrefill.everyUs;
  const chosen = inPrefill ? everywhere : besidePrefill;
  const everyUs = factor * Math.max(2 * sliceUs, chosen.everyUs);
  if (!Number.isFinite(everyUs)) return { limitedBy: chosen.kind };
  const decodeUs = meanUs * slowdownAt(everyUs, costUs);
  return { everyUs, inPrefill, decodeUs, limitedBy: chosen.kind };
}

/** The factor by which slices at this pace make decode steps longer. */
export const factorAt = (
  { cost }: PacingMemory,
  { everyUs }: Pace,
  { sliceUs, isolated }: Pick<Context, "sliceUs" | "isolated">,
): number => slowdownAt(everyUs, costOf(cost, sliceUs, isolated));

/** After its objective changed: the cautions were about the former one. */
export const withoutCorrection = (was: PacingMemory): PacingMemory => ({
  ...was,
  solo: {
    ttft: { ...was.solo.ttft, caution: 1 },
    tpot: { ...was.solo.tpot, caution: 1 },
    e2e: { ...was.solo.e2e, caution: 1 },
  },
});

export const isPace = (pace: Pace | NoHeadroom | undefined): pace is Pace =>
  pace !== undefined && "everyUs" in pace;

/** The factor by which slices in this period make steps longer. */
const slowdownAt = (everyUs: number, costUs: number): number =>
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

type Needs = readonly (readonly [RequestKind, number])[];

/** The longest period that some kind needs, and that kind. */
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

/** The part of the values, or of the stretches of steps, that must hold. Of a mean a little more than half: long ones weigh more. */
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

/** The quantile of these values, or the largest of fewer than tell it. */
function statisticOf(values: readonly number[], quantile: RequestQuantile): number {
  if (quantile === "mean") return values.reduce((sum, us) => sum + us, 0) / values.length;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(partBelow[quantile] * sorted.length) - 1] ?? 0;
}

/** The period with which that part of the stretches of steps holds; of nearly all of them, each. */
function periodThatHolds(part: number, periods: readonly number[]): number {
  if (part >= partBelow.p99) return Math.max(0, ...periods);
  const sorted = periods.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
}
