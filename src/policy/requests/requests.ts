// Objectives about requests as the service's users see them: time to first token, time per output token, whole
// requests. The service measures these itself. Whoever asks the policy compares each request with the objective's limit
// before the policy sees it, because a service publishes histograms with a few fixed limits.
import { type Latency, latencies } from "#engines";
import {
  ALLOWED,
  type Evidence,
  holds,
  holdsSoFar,
  holdsWithMargin,
  isBroken,
  noEvidence,
  withBursts,
} from "../evidence/evidence.ts";

export const requestKinds = latencies;
export type RequestKind = Latency;

export const requestQuantiles = ["p50", "p90", "p95", "p99", "mean"] as const;
export type RequestQuantile = (typeof requestQuantiles)[number];

/** An objective about one kind of times of requests: that quantile of them, or their mean, is at most the limit. */
export interface RequestObjective {
  readonly kind: RequestKind;
  readonly quantile: RequestQuantile;
  readonly limitUs: number;
}

/** One quantile is judged for each kind. */
export type RequestLimits = Readonly<Partial<Record<RequestKind, RequestObjective>>>;

/** Infinity if nothing is stated about the kind. */
export const limitUsOf = (limits: RequestLimits, kind: RequestKind): number =>
  limits[kind]?.limitUs ?? Number.POSITIVE_INFINITY;

/** A kind that is not stated is followed by its p99. */
export const quantileOf = (limits: RequestLimits, kind: RequestKind): RequestQuantile =>
  limits[kind]?.quantile ?? "p99";

/** In us, by kind. */
export type LimitsUs = Readonly<Partial<Record<RequestKind, number | undefined>>>;

/** Limits of one quantile. */
export const requestLimits = (us: LimitsUs, quantile: RequestQuantile = "p99"): RequestLimits =>
  Object.fromEntries(
    requestKinds.flatMap((kind) => {
      const limitUs = us[kind];
      return limitUs === undefined ? [] : [[kind, { kind, quantile, limitUs }]];
    }),
  );

/** The part of the values that lies at or below a quantile. */
export const partBelow = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99 } as const;

/** The part of the values that may be above the limit. Of a mean half of them: it is judged by their sum. */
export const allowedAbove = (quantile: RequestQuantile): number =>
  ({ p50: 0.5, p90: 0.1, p95: 0.05, p99: ALLOWED, mean: 0.5 })[quantile];

/** Values of one kind that were measured since the last sample. */
export interface RequestCounts {
  readonly values: number;
  /** Number of these above the limit; an upper bound where only bounds of the values are known. */
  readonly above: number;
  /** Number of these above `NEAR` times the limit. */
  readonly near: number;
  /** Their sum, in us; undefined if it is not known. */
  readonly sumUs?: number | undefined;
  /** Each of them, in us, estimated where they are known by bounds only; undefined if they are too many, or alike. */
  readonly each?: readonly number[] | undefined;
}

/**
 * undefined: the service does not answer, so nothing is known of its requests. `itl` is told where the service has it, stated
 * or not.
 */
export type RequestSample =
  | (Readonly<Partial<Record<RequestKind, RequestCounts>>> & {
      /** Requests that wait for the engine to begin with them, at an answer since the last sample, where it tells. */
      readonly waiting?: number | undefined;
    })
  | undefined;

/** A value below this part of the limit leaves room for one level more. */
export const NEAR = 0.75;

/**
 * Smallest number of values, at most 1 % of them near the limit, that allows the next level. A level costs little if
 * it is left at once.
 */
const MIN_VALUES = 30;
/** After a step down, requests end that began under the old rules. They are ignored for this long. */
const SETTLING_MS = 2_000;
const SETTLING_LIMITS = 3;

interface RequestEvidence {
  readonly quantile: RequestQuantile;
  readonly evidence: Evidence;
  readonly near: number;
  /** Counts of the newest values; the sum is in units of the limit, NaN if it is not known. */
  readonly newest: { readonly values: number; readonly sum: number };
}

/** Half is forgotten beyond this many: the mean is about the last minutes. */
const MAX_NEWEST = 300;

/** Evidence for each kind at the level in force. */
export type RequestsMemory = Readonly<Partial<Record<RequestKind, RequestEvidence>>>;

export const nothingOfRequests: RequestsMemory = {};

/** In the order of kinds. */
export const statedIn = (limits: RequestLimits): readonly RequestObjective[] =>
  requestKinds.flatMap((kind) => limits[kind] ?? []);

/** `sinceDownMs`: time since the last step down. */
export function withRequests(
  was: RequestsMemory,
  limits: RequestLimits,
  seen: RequestSample,
  sinceDownMs: number,
): RequestsMemory {
  const added = statedIn(limits).flatMap(
    ({ kind, quantile, limitUs }): [RequestKind, RequestEvidence][] => {
      const counts = seen?.[kind];
      const settlesMs = SETTLING_MS + (SETTLING_LIMITS * limitUs) / 1000;
      if (!counts || counts.values === 0 || sinceDownMs < settlesMs) return [];
      const { evidence, near, newest } = was[kind] ?? nothingOfKind;
      const next = withBursts(evidence, counts.values, counts.above, allowedAbove(quantile));
      // `withBursts` forgets at times: `near` forgets the same part.
      const kept = (next.bursts - counts.values) / Math.max(1, evidence.bursts);
      const known = {
        quantile,
        evidence: next,
        near: near * Math.min(1, kept) + counts.near,
        newest: withNewest(newest, counts, limitUs),
      };
      return [[kind, known]];
    },
  );
  return added.length === 0 ? was : { ...was, ...Object.fromEntries(added) };
}

const nothingOfKind = { evidence: noEvidence, near: 0, newest: { values: 0, sum: 0 } };

function withNewest(
  { values, sum }: RequestEvidence["newest"],
  counts: RequestCounts,
  limitUs: number,
): RequestEvidence["newest"] {
  const keep = values > MAX_NEWEST ? 0.5 : 1;
  return {
    values: keep * values + counts.values,
    sum: keep * sum + (counts.sumUs ?? Number.NaN) / limitUs,
  };
}

/** As a part of the limit; NaN if it is not known. */
const meanOf = ({ newest: { values, sum } }: RequestEvidence): number => sum / values;

/** Some kind is above its limit too often, or its mean is. */
export const requestsBroken = (memory: RequestsMemory): boolean =>
  Object.values(memory).some((known) =>
    known.quantile === "mean"
      ? known.newest.values >= MIN_VALUES && meanOf(known) > 1
      : isBroken(known.evidence),
  );

/** Each kind that the objective names was seen to be within its limit. */
export const requestsHold = (limits: RequestLimits, memory: RequestsMemory): boolean =>
  statedIn(limits).every(({ kind }) => {
    const known = memory[kind];
    return known !== undefined && (isHeld(known) || leavesRoom(known));
  });

/** Each kind allows another level. `back`: a level that held before. */
export const requestsLeaveRoom = (
  limits: RequestLimits,
  memory: RequestsMemory,
  back: boolean,
): boolean =>
  statedIn(limits).every(({ kind }) => {
    const known = memory[kind];
    return known !== undefined && (leavesRoom(known) || (back && isHeldSoFar(known)));
  });

/**
 * Each kind would hold if all of its values were longer by this factor.
 */
export const requestsWouldHold = (
  limits: RequestLimits,
  memory: RequestsMemory,
  factor: number,
): boolean =>
  factor * NEAR <= 1 &&
  statedIn(limits).every(({ kind }) => {
    const known = memory[kind];
    return known !== undefined && isFarBelow(known);
  });

const isHeld = (known: RequestEvidence): boolean =>
  known.quantile === "mean"
    ? known.newest.values >= MAX_NEWEST && meanOf(known) <= 1
    : holds(known.evidence, allowedAbove(known.quantile));

const isHeldSoFar = (known: RequestEvidence): boolean =>
  known.quantile === "mean"
    ? known.newest.values >= MIN_VALUES && meanOf(known) <= 1
    : holdsSoFar(known.evidence, allowedAbove(known.quantile));

function isFarBelow(known: RequestEvidence): boolean {
  const { quantile, evidence, near, newest } = known;
  return quantile === "mean"
    ? newest.values >= MIN_VALUES && meanOf(known) <= NEAR
    : evidence.bursts >= MIN_VALUES && near <= allowedAbove(quantile) * evidence.bursts;
}

const leavesRoom = (known: RequestEvidence): boolean =>
  isFarBelow(known) ||
  (known.quantile !== "mean" && holdsWithMargin(known.evidence, allowedAbove(known.quantile)));

/** The kind that leaves the least room; undefined while nothing is known of any. */
export function tightestKind(memory: RequestsMemory): RequestKind | undefined {
  const pressure = (one: RequestEvidence) =>
    one.quantile === "mean"
      ? meanOf(one)
      : ((1000 * one.evidence.above + one.near) * ALLOWED) /
        (one.evidence.bursts * allowedAbove(one.quantile));
  const known = requestKinds.flatMap((kind) => {
    const one = memory[kind];
    return one ? [{ kind, pressure: pressure(one) }] : [];
  });
  return known.toSorted((a, b) => b.pressure - a.pressure)[0]?.kind;
}
