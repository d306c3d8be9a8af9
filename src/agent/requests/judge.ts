// Requests that a server counted between two answers of its endpoint, kind by kind, as far as histograms tell.
import { type Histogram, type HistogramSeries, prometheusUnitMs, valuesSince } from "#core";
import { histogramsOf } from "#engines";
import {
  limitUsOf,
  NEAR,
  partBelow,
  quantileOf,
  type RequestCounts,
  type RequestKind,
  type RequestLimits,
  type RequestObjective,
  requestKinds,
  statedIn,
} from "#policy";
import { areAlike, compare, nearTo, type Since } from "./compare.ts";

export type Histograms = ReadonlyMap<string, HistogramSeries>;

export interface Judged extends RequestObjective {
  /**
   * By what values are judged: the limit itself if they are known by their mean, otherwise a bound of the histogram; 0: it
   * has none at or below the limit.
   */
  readonly judgedAtUs: number;
  /** The histogram's first bound; undefined if it has none. */
  readonly firstBoundUs: number | undefined;
  /** Values that count as above although bounds and sum do not tell that they are. */
  readonly unsure: number;
  readonly counts: RequestCounts;
  /** In us; undefined without values, and where the histogram has no sum. */
  readonly meanUs: number | undefined;
  /** The stated quantile, as the next two, or the mean. */
  readonly statedUs: number | undefined;
  /** In us: the bound at or below which that part of the values lies. undefined: above the last bound, or no values. */
  readonly p50Us: number | undefined;
  readonly p99Us: number | undefined;
}

/** The stated kinds for which the server has no histogram. */
export const missingKinds = (limits: RequestLimits, now: Histograms): readonly RequestKind[] =>
  statedIn(limits).flatMap(({ kind }) => (nameOf(kind, now) === undefined ? [kind] : []));

/**
 * Counts from `before` to `now`. The time between tokens is told where the server has it, stated or not, because it
 * tells at once how fast the server is.
 */
export const judge = (
  limits: RequestLimits,
  before: Histograms,
  now: Histograms,
): readonly Judged[] =>
  [...new Set([...statedIn(limits).map(({ kind }) => kind), "itl" as const])].flatMap(
    (kind): Judged[] => {
      const name = nameOf(kind, now);
      const to = name === undefined ? undefined : now.get(name);
      if (name === undefined || !to) return [];
      const came = valuesSince(before.get(name) ?? new Map(), to);
      const since = inMicros(came, 1000 * prometheusUnitMs(name));
      const limitUs = limitUsOf(limits, kind);
      return [judgeKind({ kind, quantile: quantileOf(limits, kind), limitUs }, since)];
    },
  );

const nameOf = (kind: RequestKind, now: Histograms): string | undefined =>
  histogramsOf(kind).find((name) => now.has(name));

/** All that an endpoint may have. */
export const allHistograms: ReadonlySet<string> = new Set(requestKinds.flatMap(histogramsOf));

const inMicros = ({ upTo, sum, count }: Histogram, unitUs: number): Since => ({
  upTo: [...upTo].map(([bound, values]) => [bound * unitUs, values]),
  values: count,
  meanUs: (sum * unitUs) / count,
});

function judgeKind({ kind, quantile, limitUs }: RequestObjective, since: Since): Judged {
  const { values, upTo, meanUs } = since;
  const quantileUs = (q: number) => {
    const [us = Infinity] = upTo.find(([, upTo]) => upTo >= q * values) ?? [];
    return values > 0 && Number.isFinite(us) ? us : undefined;
  };
  const { above, atLeast, judgedAtUs } = compare(kind, since, limitUs);
  const mean = values > 0 && Number.isFinite(meanUs) ? meanUs : undefined;
  return {
    kind,
    quantile,
    limitUs,
    judgedAtUs,
    firstBoundUs: upTo[0]?.[0],
    unsure: above - atLeast,
    counts: {
      values,
      above,
      near: nearTo(kind, since, NEAR * limitUs),
      sumUs: sumOf(since),
      each: areAlike(kind, since) ? undefined : eachOf(since),
    },
    meanUs: mean,
    statedUs: quantile === "mean" ? mean : quantileUs(partBelow[quantile]),
    p50Us: quantileUs(0.5),
    p99Us: quantileUs(0.99),
  };
}

const sumOf = ({ values, meanUs }: Since): number | undefined => {
  if (values === 0) return 0;
  return Number.isFinite(meanUs) ? values * meanUs : undefined;
};

/** If more values came at once, the sum says little of each. */
export const MAX_EACH = 16;

/**
 * Each value, as the bounds and the sum tell: of all densities that fit them the one of most entropy, which between two bounds is
 * an exponential function, the same one for all (Jaynes, Information theory and statistical mechanics, 1957). Values between the same
 * bounds are its quantiles.
 */
function eachOf({ values, upTo, meanUs }: Since): readonly number[] | undefined {
  if (values === 0 || values > MAX_EACH || !Number.isFinite(meanUs)) return undefined;
  if (values === 1) return [meanUs];
  const sumUs = values * meanUs;
  const buckets = upTo.flatMap(([toUs, count], i) => {
    const [fromUs, before] = upTo[i - 1] ?? [0, 0];
    // Above the last bound a value is as long as the sum allows.
    return count > before ? [{ count: count - before, fromUs, toUs: Math.min(toUs, sumUs) }] : [];
  });
  const widest = Math.max(...buckets.map(({ fromUs, toUs }) => toUs - fromUs));
  if (!(widest > 0)) return undefined;
  const placed = (slope: number) =>
    buckets.flatMap(({ count, fromUs, toUs }) =>
      Array.from(
        { length: count },
        (_, i) => fromUs + quantileBetween((i + 0.5) / count, toUs - fromUs, slope / widest),
      ),
    );
  let [low, high] = [-STEEPEST, STEEPEST];
  for (let i = 0; i < 40; i++) {
    const slope = (low + high) / 2;
    const sum = placed(slope).reduce((sum, one) => sum + one, 0);
    if (sum > sumUs) low = slope;
    else high = slope;
  }
  return placed(high);
}

/** The density falls by e to this over the widest distance between two bounds. */
const STEEPEST = 100;

/** Quantile of the density `exp(-slope x)` between 0 and the width. */
const quantileBetween = (q: number, width: number, slope: number): number =>
  Math.abs(slope * width) < 1e-6
    ? q * width
    : Math.min(width, Math.max(0, -Math.log1p(q * Math.expm1(-slope * width)) / slope));
