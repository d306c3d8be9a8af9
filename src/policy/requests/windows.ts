// An objective about the p99 is one about windows of time: of many requests in a window one may be late, of few none. Whether
// late ones come together decides how many windows they break. So the p99 of windows is learned, too.
import { quantile } from "#core";
import { type Excess, excessOf } from "./excess.ts";

/** Objectives are to hold in windows of this length, but for this part of them. */
export const WINDOW_MS = 10_000;
export const LATE_WINDOWS = 0.01;
/**
 * Of windows that are like the tens that were seen: half of what may be late, because what follows from these is short by chance half of
 * the time (in virtual time the whole broke 1.1 % more windows than `strict` beside engines that were not used to make it).
 */
export const LATE_BY_WINDOWS = LATE_WINDOWS / 2;
/** Of the values of a window, by an objective about the p99. */
const MAY_BE_LATE = 0.01;

export interface Windows {
  /** When the present one began, and its values. */
  readonly sinceMs: number;
  readonly values: readonly number[];
  /** The p99 of earlier ones, the newest last. */
  readonly p99s: readonly number[];
}

export const noWindows: Windows = { sinceMs: Number.NaN, values: [], p99s: [] };

/** Older ones are forgotten. */
const MOST = 60;

export function withWindow(was: Windows, nowMs: number, values: readonly number[]): Windows {
  if (Number.isNaN(was.sinceMs)) return { ...was, sinceMs: nowMs, values };
  if (nowMs - was.sinceMs < WINDOW_MS) return { ...was, values: [...was.values, ...values] };
  const p99s =
    was.values.length > 0 ? [...was.p99s, quantile(was.values, 1 - MAY_BE_LATE)] : was.p99s;
  return { sinceMs: nowMs, values, p99s: p99s.slice(-MOST) };
}

/** Fewer tell nothing. */
const LEAST = 3;

/** Of the longer half of the windows. `expected`: the mean excess of single values. undefined: too few are known. */
export const windowExcess = ({ p99s }: Windows, expected: number): Excess | undefined =>
  p99s.length < LEAST
    ? undefined
    : excessOf(
        p99s.toSorted((a, b) => b - a),
        Math.ceil(p99s.length / 2),
        () => expected,
      );

/** The mean number of requests that may be late in a window of `each`, if they are late independently of each other. */
export function lateInWindow(each: number): number {
  // The p99 of up to 101 values lies between the two longest of them, at this part of the way. So one that is late must be so by
  // more, or two must be: with a mean of m late ones the probability is about m^(1 / part) for an exponential excess, and m^2 for two.
  const part = 1 - MAY_BE_LATE * Math.max(0, each - 1);
  return LATE_WINDOWS ** Math.max(0.5, part);
}

/** So many late ones are too many in a window of `each`. */
export const tooManyLate = (each: number): number => 1 + Math.floor(MAY_BE_LATE * each);
