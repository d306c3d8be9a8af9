// Compares the values of a histogram with a limit. A histogram has a few fixed bounds. If only a few values came, and all
// between the same two bounds, the histogram's sum tells their mean, and they are judged by it. Otherwise values are judged by
// the largest bound at or below the limit, so a value between the two counts as above the limit: an objective is never taken
// for met because a bound is missing.
import type { RequestKind } from "#policy";

/** The values that came between two answers. */
export interface Since {
  readonly values: number;
  /** Empty where the server tells a sum and a count only. */
  readonly upTo: readonly (readonly [us: number, values: number])[];
  /** NaN if it is not known. */
  readonly meanUs: number;
}

interface Compared {
  /** The number of values above the limit, at most, and surely. */
  readonly above: number;
  readonly atLeast: number;
  /** By what they were judged: the limit, or a bound at or below it; 0: there is none. */
  readonly judgedAtUs: number;
}

/** `limitUs` may be Infinity. */
export function compare(kind: RequestKind, since: Since, limitUs: number): Compared {
  const [firstUs = Infinity] = since.upTo[0] ?? [];
  if (limitUs * (1 + ROUNDING) < firstUs) return compareBelowBounds(since, firstUs, limitUs);
  const count = areAlike(kind, since) ? countAlike : countAbove;
  const { above, judgedAtUs } = count(since, limitUs);
  return { above, atLeast: above, judgedAtUs };
}

/** How many values are above part of the limit, so that it leaves little room. Times per token count by their mean at any size. */
export const nearTo = (kind: RequestKind, since: Since, partUs: number): number =>
  areAlike(kind, since) ? countAlike(since, partUs).above : compare(kind, since, partUs).above;

/**
 * With a limit below the first bound, as where an engine needs 5 ms a token and its histogram begins at 10 ms. Bounds tell how
 * many are surely above the limit. The sum tells how many may be: the others would take no time at all.
 */
function compareBelowBounds(
  { values, upTo, meanUs }: Since,
  firstUs: number,
  limitUs: number,
): Compared {
  const [, within = values] = upTo[0] ?? [];
  const beyond = values - within;
  if (!Number.isFinite(meanUs)) return { above: values, atLeast: beyond, judgedAtUs: 0 };
  const sumUs = values * meanUs - shortestUs(upTo, Infinity);
  const judgedAtUs = limitUs;
  if (beyond === 0 && within <= ALIKE) {
    const above = sumUs > within * limitUs ? within : 0;
    return { above, atLeast: above, judgedAtUs };
  }
  const most = Math.min(within, Math.floor(Math.max(0, sumUs) / limitUs));
  // Each of them exceeds the limit by no more than the first bound does.
  const excess = beyond > 0 ? 0 : Math.max(0, sumUs - within * limitUs) / (firstUs - limitUs);
  const surely = Math.min(most, Math.ceil(excess * (1 - ROUNDING)));
  return { above: beyond + most, atLeast: beyond + surely, judgedAtUs };
}

/** 0.05 s is 50,000.000000000007 us. */
const ROUNDING = 1e-9;
/** At most this many values that lie between the same bounds are taken for alike. */
const ALIKE = 3;

/** The largest bound at or below the limit, and how many values lie up to it and up to the next. */
function around({ upTo, values }: Since, limitUs: number) {
  const at = upTo.findLastIndex(([us]) => us <= limitUs * (1 + ROUNDING));
  const [judgedAtUs, good] = upTo[at] ?? [0, 0];
  return { judgedAtUs, good, upToNext: upTo[at + 1]?.[1] ?? values };
}

/**
 * Counts values between the two bounds around the limit from the sum, by assuming that all others are as short as
 * their bounds allow. A few values are taken as equal; of more, as many count as above as the sum allows.
 */
function countAbove(since: Since, limitUs: number) {
  const { values } = since;
  const { judgedAtUs, good, upToNext } = around(since, limitUs);
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
export function areAlike(kind: RequestKind, { upTo, values }: Since): boolean {
  if (kind !== "tpot") return false;
  const first = upTo.findIndex(([, count]) => count > 0);
  const last = upTo.findIndex(([, count]) => count === values);
  return last - first <= 1;
}

function countAlike(since: Since, limitUs: number) {
  const { values } = since;
  const { judgedAtUs, good, upToNext } = around(since, limitUs);
  if (values === 0 || !Number.isFinite(since.meanUs)) return { above: values - good, judgedAtUs };
  const above = since.meanUs > limitUs ? values - good : values - upToNext;
  return { above, judgedAtUs: limitUs };
}
