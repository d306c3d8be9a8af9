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
  /** It is the limit for values judged by their mean, otherwise a bound; 0: no bound is as low. */
  readonly judgedAtUs: number;
  readonly firstBoundUs: number | undefined;
  /** These values count as above although bounds and sum leave it open. */
  readonly unsure: number;
  readonly counts: RequestCounts;
  readonly meanUs: number | undefined;
  readonly statedUs: number | undefined;
  readonly p50Us: number | undefined;
  readonly p99Us: number | undefined;
}

export const missingKinds = (limits: RequestLimits, now: Histograms): readonly RequestKind[] =>
  statedIn(limits).flatMap(({ kind }) => (nameOf(kind, now) === undefined ? [kind] : []));

/** The time between tokens is always judged: it shows at once how fast the server is. */
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

export const MAX_EACH = 16;

// Takes the density of most entropy that fits bounds and sum, which between two bounds is an
// exponential function (Jaynes, Information theory and statistical mechanics, 1957). Values between
// the same bounds are its quantiles.
function eachOf({ values, upTo, meanUs }: Since): readonly number[] | undefined {
  if (values === 0 || values > MAX_EACH || !Number.isFinite(meanUs)) return undefined;
  if (values === 1) return [meanUs];
  const sumUs = values * meanUs;
  const buckets = upTo.flatMap(([toUs, count], i) => {
    const [fromUs, before] = upTo[i - 1] ?? [0, 0];
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

const quantileBetween = (q: number, width: number, slope: number): number =>
  Math.abs(slope * width) < 1e-6
    ? q * width
    : Math.min(width, Math.max(0, -Math.log1p(q * Math.expm1(-slope * width)) / slope));
