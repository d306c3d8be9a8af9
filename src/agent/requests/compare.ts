// A histogram has a few fixed bounds. A few values between the same two bounds are judged by their
// mean, from the sum. Others are judged by the largest bound at or below the limit: a value in
// between counts as above, so a missing bound never lets an objective seem met.
import type { RequestKind } from "#policy";

export interface Since {
  readonly values: number;
  /** It is empty where the server reports a sum and a count only. */
  readonly upTo: readonly (readonly [us: number, values: number])[];
  readonly meanUs: number;
}

interface Compared {
  /** At most this many values are above the limit; `atLeast` surely are. */
  readonly above: number;
  readonly atLeast: number;
  /** The limit, or a bound at or below it; 0: there is none. */
  readonly judgedAtUs: number;
}

export function compare(kind: RequestKind, since: Since, limitUs: number): Compared {
  const [firstUs = Infinity] = since.upTo[0] ?? [];
  if (limitUs * (1 + ROUNDING) < firstUs) return compareBelowBounds(since, firstUs, limitUs);
  const count = areAlike(kind, since) ? countAlike : countAbove;
  const { above, judgedAtUs } = count(since, limitUs);
  return { above, atLeast: above, judgedAtUs };
}

/** Counts values above a part of the limit. Times per token count by their mean at any size. */
export const nearTo = (kind: RequestKind, since: Since, partUs: number): number =>
  areAlike(kind, since) ? countAlike(since, partUs).above : compare(kind, since, partUs).above;

// An engine may need 5 ms a token where its histogram begins at 10 ms. Bounds show how many values
// are surely above the limit, the sum how many may be: the others would take no time at all.
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
const ALIKE = 3;

function around({ upTo, values }: Since, limitUs: number) {
  const at = upTo.findLastIndex(([us]) => us <= limitUs * (1 + ROUNDING));
  const [judgedAtUs, good] = upTo[at] ?? [0, 0];
  return { judgedAtUs, good, upToNext: upTo[at + 1]?.[1] ?? values };
}

// Counts values between the bounds around the limit from the sum, with all others as short as their
// bounds allow. A few are taken as equal; of more, as many are above as the sum allows.
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

function shortestUs(upTo: Since["upTo"], untilUs: number): number {
  let [sum, from, before] = [0, 0, 0];
  for (const [us, values] of upTo) {
    if (us > untilUs) break;
    sum += (values - before) * from;
    [from, before] = [us, values];
  }
  return sum;
}

/** Times per token are means of the same steps, so they are alike, but not for a few tokens. */
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
