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
} from "../evidence.ts";

export const requestKinds = latencies;
export type RequestKind = Latency;

/** 99 % of the values are at most this, in us. */
export type RequestLimits = Readonly<Partial<Record<RequestKind, number>>>;

/** Values of one kind that were measured since the last look. */
export interface RequestCounts {
  readonly values: number;
  /** Of these, values above the limit: where they are known by bounds only, as many as could be. */
  readonly above: number;
  /** Of these, values above `NEAR` times the limit. */
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
export type RequestsSeen =
  | (Readonly<Partial<Record<RequestKind, RequestCounts>>> & {
      /** Requests that wait for the engine to begin with them, at an answer since the last look, where it tells. */
      readonly waiting?: number | undefined;
    })
  | undefined;

/** A value below this part of the limit leaves room for one level more. */
export const NEAR = 0.75;

/** So many values of which at most 1 % are near the limit allow the next level. A level costs little if it is left at once. */
const FEW = 30;
/** After a step down, requests end that began under the old rules. They are ignored for so long. */
const SETTLING_MS = 2_000;
const SETTLING_LIMITS = 3;

interface RequestEvidence {
  readonly evidence: Evidence;
  readonly near: number;
}

/** What is known of each kind at the level in force. */
export type RequestsMemory = Readonly<Partial<Record<RequestKind, RequestEvidence>>>;

export const nothingOfRequests: RequestsMemory = {};

/** The kinds that an objective names. */
export const statedKinds = (limits: RequestLimits): readonly RequestKind[] =>
  requestKinds.filter((kind) => limits[kind] !== undefined);

/** `sinceDownMs`: time since the last step down. */
export function withRequests(
  was: RequestsMemory,
  limits: RequestLimits,
  seen: RequestsSeen,
  sinceDownMs: number,
): RequestsMemory {
  const added = statedKinds(limits).flatMap((kind): [RequestKind, RequestEvidence][] => {
    const counts = seen?.[kind];
    const settlesMs = SETTLING_MS + (SETTLING_LIMITS * (limits[kind] ?? 0)) / 1000;
    if (!counts || counts.values === 0 || sinceDownMs < settlesMs) return [];
    const { evidence, near } = was[kind] ?? { evidence: noEvidence, near: 0 };
    const next = withBursts(evidence, counts.values, counts.above);
    // `withBursts` forgets at times: `near` forgets the same part.
    const kept = (next.bursts - counts.values) / Math.max(1, evidence.bursts);
    return [[kind, { evidence: next, near: near * Math.min(1, kept) + counts.near }]];
  });
  return added.length === 0 ? was : { ...was, ...Object.fromEntries(added) };
}

/** Some kind is above its limit too often. */
export const requestsBroken = (memory: RequestsMemory): boolean =>
  Object.values(memory).some(({ evidence }) => isBroken(evidence));

/** Each kind that the objective names was seen to be within its limit. */
export const requestsHold = (limits: RequestLimits, memory: RequestsMemory): boolean =>
  statedKinds(limits).every((kind) => {
    const known = memory[kind];
    return known !== undefined && (holds(known.evidence) || leavesRoom(known));
  });

/** Each kind allows another level. `back`: a level that held before. */
export const requestsLeaveRoom = (
  limits: RequestLimits,
  memory: RequestsMemory,
  back: boolean,
): boolean =>
  statedKinds(limits).every((kind) => {
    const known = memory[kind];
    return known !== undefined && (leavesRoom(known) || (back && holdsSoFar(known.evidence)));
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
  statedKinds(limits).every((kind) => {
    const known = memory[kind];
    return known !== undefined && isFarBelow(known);
  });

const isFarBelow = ({ evidence, near }: RequestEvidence): boolean =>
  evidence.bursts >= FEW && near <= ALLOWED * evidence.bursts;

const leavesRoom = (known: RequestEvidence): boolean =>
  holdsWithMargin(known.evidence) || isFarBelow(known);

/** The kind that leaves the least room; undefined while nothing is known of any. */
export function tightestKind(memory: RequestsMemory): RequestKind | undefined {
  const pressure = ({ evidence, near }: RequestEvidence) =>
    (1000 * evidence.above + near) / evidence.bursts;
  const known = requestKinds.flatMap((kind) => {
    const one = memory[kind];
    return one ? [{ kind, pressure: pressure(one) }] : [];
  });
  return known.toSorted((a, b) => b.pressure - a.pressure)[0]?.kind;
}
