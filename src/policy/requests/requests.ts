// The service measures requests, and publishes histograms with a few fixed bounds.
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

export interface RequestObjective {
  readonly kind: RequestKind;
  readonly quantile: RequestQuantile;
  readonly limitUs: number;
}

export type RequestLimits = Readonly<Partial<Record<RequestKind, RequestObjective>>>;

export const limitUsOf = (limits: RequestLimits, kind: RequestKind): number =>
  limits[kind]?.limitUs ?? Number.POSITIVE_INFINITY;

export const quantileOf = (limits: RequestLimits, kind: RequestKind): RequestQuantile =>
  limits[kind]?.quantile ?? "p99";

export type LimitsUs = Readonly<Partial<Record<RequestKind, number | undefined>>>;

export const requestLimits = (us: LimitsUs, quantile: RequestQuantile = "p99"): RequestLimits =>
  Object.fromEntries(
    requestKinds.flatMap((kind) => {
      const limitUs = us[kind];
      return limitUs === undefined ? [] : [[kind, { kind, quantile, limitUs }]];
    }),
  );

export const partBelow = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99 } as const;

/** Half of the values may exceed a mean. */
export const allowedAbove = (quantile: RequestQuantile): number =>
  ({ p50: 0.5, p90: 0.1, p95: 0.05, p99: ALLOWED, mean: 0.5 })[quantile];

export interface RequestCounts {
  readonly values: number;
  readonly above: number; // it is an upper bound where only bounds are known
  readonly near: number; // counts values above `NEAR` times the limit
  readonly sumUs?: number | undefined; // undefined: not known
  readonly each?: readonly number[] | undefined; // undefined: too many, or all alike
}

/** undefined: the service does not answer. */
export type RequestSample =
  | (Readonly<Partial<Record<RequestKind, RequestCounts>>> & {
      readonly waiting?: number | undefined;
    })
  | undefined;

export const NEAR = 0.75; // below this a level more is tried
const MIN_VALUES = 30;
/** After a step down, requests that began under the old parameters are ignored for this long. */
const SETTLING_MS = 2_000;
const SETTLING_LIMITS = 3;

interface RequestEvidence {
  readonly quantile: RequestQuantile;
  readonly evidence: Evidence;
  readonly near: number;
  /** The unit of the sum is the limit. */
  readonly newest: { readonly values: number; readonly sum: number };
}

/** Half is forgotten beyond this many: the mean is about the last minutes. */
const MAX_NEWEST = 300;
export type RequestsMemory = Readonly<Partial<Record<RequestKind, RequestEvidence>>>;

export const nothingOfRequests: RequestsMemory = {};

export const statedIn = (limits: RequestLimits): readonly RequestObjective[] =>
  requestKinds.flatMap((kind) => limits[kind] ?? []);

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

const meanOf = ({ newest: { values, sum } }: RequestEvidence): number => sum / values;

export const requestsBroken = (memory: RequestsMemory): boolean =>
  Object.values(memory).some((known) =>
    known.quantile === "mean"
      ? known.newest.values >= MIN_VALUES && meanOf(known) > 1
      : isBroken(known.evidence),
  );

export const requestsHold = (limits: RequestLimits, memory: RequestsMemory): boolean =>
  statedIn(limits).every(({ kind }) => {
    const known = memory[kind];
    return known !== undefined && (isHeld(known) || leavesRoom(known));
  });

export const requestsLeaveRoom = (
  limits: RequestLimits,
  memory: RequestsMemory,
  back: boolean,
): boolean =>
  statedIn(limits).every(({ kind }) => {
    const known = memory[kind];
    return known !== undefined && (leavesRoom(known) || (back && isHeldSoFar(known)));
  });

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
