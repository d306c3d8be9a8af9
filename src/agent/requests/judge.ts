// Compares the requests that a server counted between two answers with the limits of an objective. A histogram has a
// few fixed bounds. Values are judged by the largest bound at or below the limit, so a value between the two counts as
// above the limit: an objective is never taken for met because a bound is missing.
import { type Cumulative, prometheusUnitMs } from "#core";
import { histogramsOf } from "#engines";
import {
  NEAR,
  type RequestCounts,
  type RequestKind,
  type RequestLimits,
  requestKinds,
  statedKinds,
} from "#policy";

export type Histograms = ReadonlyMap<string, Cumulative>;

export interface Judged {
  readonly kind: RequestKind;
  readonly limitUs: number;
  /** The histogram's bound by which values are judged; 0: it has none at or below the limit. */
  readonly judgedAtUs: number;
  readonly counts: RequestCounts;
  /** In us: the bound at or below which that part of the values lies. undefined: above the last bound, or no values. */
  readonly p50Us: number | undefined;
  readonly p99Us: number | undefined;
}

/** The stated kinds for which the server has no histogram. */
export const missingKinds = (limits: RequestLimits, now: Histograms): readonly RequestKind[] =>
  statedKinds(limits).filter((kind) => nameOf(kind, now) === undefined);

/** What was counted from `before` to `now`. Counters that went down began anew: then all that they show is new. */
export const judge = (
  limits: RequestLimits,
  before: Histograms,
  now: Histograms,
): readonly Judged[] =>
  statedKinds(limits).flatMap((kind): Judged[] => {
    const name = nameOf(kind, now);
    const to = name === undefined ? undefined : now.get(name);
    if (name === undefined || !to) return [];
    const from = before.get(name) ?? new Map();
    return [judgeKind(kind, limits[kind] ?? 0, 1000 * prometheusUnitMs(name), from, to)];
  });

const nameOf = (kind: RequestKind, now: Histograms): string | undefined =>
  histogramsOf(kind).find((name) => now.has(name));

/** All that an endpoint may have. */
export const allHistograms: ReadonlySet<string> = new Set(requestKinds.flatMap(histogramsOf));

function judgeKind(
  kind: RequestKind,
  limitUs: number,
  unitUs: number,
  from: Cumulative,
  to: Cumulative,
): Judged {
  const reset = [...to].some(([bound, count]) => count < (from.get(bound) ?? 0));
  const since = [...to].map(([bound, count]): readonly [us: number, upTo: number] => [
    bound * unitUs,
    count - (reset ? 0 : (from.get(bound) ?? 0)),
  ]);
  const values = since.at(-1)?.[1] ?? 0;
  const within = (us: number) => since.findLast(([bound]) => bound <= us * (1 + ROUNDING));
  const quantileUs = (q: number) => {
    const [us = Infinity] = since.find(([, upTo]) => upTo >= q * values) ?? [];
    return values > 0 && Number.isFinite(us) ? us : undefined;
  };
  const [judgedAtUs = 0, good = 0] = within(limitUs) ?? [];
  const [, far = 0] = within(NEAR * limitUs) ?? [];
  return {
    kind,
    limitUs,
    judgedAtUs,
    counts: { values, above: values - good, near: values - far },
    p50Us: quantileUs(0.5),
    p99Us: quantileUs(0.99),
  };
}

/** 0.05 s is 50,000.000000000007 us. */
const ROUNDING = 1e-9;
