// Compares the requests that a server counted between two answers with the limits of an objective. A histogram has a
// few fixed bounds. If only a few values came, and all between the same two bounds, the histogram's sum tells their mean,
// and they are judged by it. Otherwise values are judged by the largest bound at or below the limit, so a value between
// the two counts as above the limit: an objective is never taken for met because a bound is missing.
import { type Cumulative, type Histogram, prometheusUnitMs } from "#core";
import { histogramsOf } from "#engines";
import {
  NEAR,
  type RequestCounts,
  type RequestKind,
  type RequestLimits,
  requestKinds,
  statedKinds,
} from "#policy";

export type Histograms = ReadonlyMap<string, Histogram>;

export interface Judged {
  readonly kind: RequestKind;
  readonly limitUs: number;
  /**
   * By what values are judged: the limit itself if they are known by their mean, otherwise a bound of the histogram; 0: it
   * has none at or below the limit.
   */
  readonly judgedAtUs: number;
  readonly counts: RequestCounts;
  /** In us: the bound at or below which that part of the values lies. undefined: above the last bound, or no values. */
  readonly p50Us: number | undefined;
  readonly p99Us: number | undefined;
}

/** The stated kinds for which the server has no histogram. */
export const missingKinds = (limits: RequestLimits, now: Histograms): readonly RequestKind[] =>
  statedKinds(limits).filter((kind) => nameOf(kind, now) === undefined);

/**
 * What was counted from `before` to `now`. Counters that went down began anew: then all that they show is new. The time
 * between tokens is told where the server has it, stated or not, because it tells at once how fast the server is.
 */
export const judge = (
  limits: RequestLimits,
  before: Histograms,
  now: Histograms,
): readonly Judged[] =>
  [...new Set([...statedKinds(limits), "itl" as const])].flatMap((kind): Judged[] => {
    const name = nameOf(kind, now);
    const to = name === undefined ? undefined : now.get(name);
    if (name === undefined || !to) return [];
    const since = countSince(before.get(name), to, 1000 * prometheusUnitMs(name));
    return [judgeKind(kind, limits[kind] ?? Number.POSITIVE_INFINITY, since)];
  });

const nameOf = (kind: RequestKind, now: Histograms): string | undefined =>
  histogramsOf(kind).find((name) => now.has(name));

/** All that an endpoint may have. */
export const allHistograms: ReadonlySet<string> = new Set(requestKinds.flatMap(histogramsOf));

/** The values that came since another look. */
interface Since {
  readonly upTo: readonly (readonly [us: number, values: number])[];
  /** NaN if it is not known. */
  readonly meanUs: number;
}

const none: Cumulative = new Map();

function countSince(before: Histogram | undefined, now: Histogram, unitUs: number): Since {
  const reset = [...now.upTo].some(([bound, count]) => count < (before?.upTo.get(bound) ?? 0));
  const from = reset ? none : (before?.upTo ?? none);
  const upTo = [...now.upTo].map(([bound, count]): readonly [number, number] => [
    bound * unitUs,
    count - (from.get(bound) ?? 0),
  ]);
  const values = upTo.at(-1)?.[1] ?? 0;
  const sum = now.sum - (from === none ? 0 : (before?.sum ?? 0));
  return { upTo, meanUs: (sum * unitUs) / values };
}

function judgeKind(kind: RequestKind, limitUs: number, since: Since): Judged {
  const values = since.upTo.at(-1)?.[1] ?? 0;
  const quantileUs = (q: number) => {
    const [us = Infinity] = since.upTo.find(([, upTo]) => upTo >= q * values) ?? [];
    return values > 0 && Number.isFinite(us) ? us : undefined;
  };
  const alike = kind === "tpot" && lieTogether(since);
  const count = alike ? countAlike : countAbove;
  const { above, judgedAtUs } = count(since, values, limitUs);
  const near = count(since, values, NEAR * limitUs).above;
  return {
    kind,
    limitUs,
    judgedAtUs,
    counts: {
      values,
      above,
      near,
      sumUs: sumOf(since),
      each: alike ? undefined : eachOf(since),
    },
    p50Us: quantileUs(0.5),
    p99Us: quantileUs(0.99),
  };
}

const sumOf = ({ upTo, meanUs }: Since): number | undefined => {
  const values = upTo.at(-1)?.[1] ?? 0;
  if (values === 0) return 0;
  return Number.isFinite(meanUs) ? values * meanUs : undefined;
};

/** Of more values that came at once the sum says little of each. */
export const MOST_EACH = 16;

/**
 * Each value, as the bounds and the sum tell: of all densities that fit them the one of most entropy, which between two bounds is
 * an exponential function, the same one for all (Jaynes, Information theory and statistical mechanics, 1957). Values between the same
 * bounds are its quantiles.
 */
function eachOf({ upTo, meanUs }: Since): readonly number[] | undefined {
  const values = upTo.at(-1)?.[1] ?? 0;
  if (values === 0 || values > MOST_EACH || !Number.isFinite(meanUs)) return undefined;
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

/** Of the density `exp(-slope x)` between 0 and the width. */
const quantileBetween = (q: number, width: number, slope: number): number =>
  Math.abs(slope * width) < 1e-6
    ? q * width
    : Math.min(width, Math.max(0, -Math.log1p(q * Math.expm1(-slope * width)) / slope));

/** 0.05 s is 50,000.000000000007 us. */
const ROUNDING = 1e-9;
/** So few values that lie between the same bounds are taken for alike. */
const ALIKE = 3;

/** The largest bound at or below the limit, and how many values lie up to it and up to the next. */
function around({ upTo }: Since, values: number, limitUs: number) {
  const at = upTo.findLastIndex(([us]) => us <= limitUs * (1 + ROUNDING));
  const [judgedAtUs, good] = upTo[at] ?? [0, 0];
  return { judgedAtUs, good, upToNext: upTo[at + 1]?.[1] ?? values };
}

/**
 * What lies between the two bounds around the limit is judged by its sum, which is known if all others lie below: each of those
 * is taken for as short as its bounds allow. A few are alike, of more as many count as above as the sum allows.
 */
function countAbove(since: Since, values: number, limitUs: number) {
  const { judgedAtUs, good, upToNext } = around(since, values, limitUs);
  const between = upToNext - good;
  const sumUs = since.meanUs * values - shortestUs(since.upTo, judgedAtUs);
  if (upToNext < values || between === 0 || !(sumUs >= between * judgedAtUs))
    return { above: values - good, judgedAtUs };
  if (between <= ALIKE)
    return { above: sumUs > between * limitUs ? between : 0, judgedAtUs: limitUs };
  const most = Math.floor((sumUs - between * judgedAtUs) / (limitUs - judgedAtUs));
  return { above: Math.min(between, most), judgedAtUs: limitUs };
}

/** The least that the values up to a bound can take in all. */
function shortestUs(upTo: Since["upTo"], untilUs: number): number {
  let [sum, from, before] = [0, 0, 0];
  for (const [us, values] of upTo) {
    if (us > untilUs) break;
    sum += (values - before) * from;
    [from, before] = [us, values];
  }
  return sum;
}

/**
 * Times per token are the means of the same steps, so any number that came together are alike. Those of answers of a few tokens are not:
 * some lie bounds away from the others.
 */
function lieTogether({ upTo }: Since): boolean {
  const values = upTo.at(-1)?.[1] ?? 0;
  const first = upTo.findIndex(([, count]) => count > 0);
  const last = upTo.findIndex(([, count]) => count === values);
  return last - first <= 1;
}

function countAlike(since: Since, values: number, limitUs: number) {
  const { judgedAtUs, good, upToNext } = around(since, values, limitUs);
  if (values === 0 || !Number.isFinite(since.meanUs)) return { above: values - good, judgedAtUs };
  const above = since.meanUs > limitUs ? values - good : values - upToNext;
  return { above, judgedAtUs: limitUs };
}
