// How long the longest of a kind of requests take, from few of them. A histogram's count and sum tell the mean of the
// values that came between two answers exactly, whatever its bounds are, and most answers have one value or two. Of few values
// it is known only roughly by how much the longest exceed the others, so what is usual counts as some values more.

import { type Excess, excessOf, longestBut, meanExcess } from "./excess.ts";
import { partBelow, type RequestQuantile } from "./requests.ts";
import { LATE_BY_WINDOWS, noWindows, type Windows, windowExcess, withWindow } from "./windows.ts";

/** Values that came together. */
export interface Group {
  readonly values: number;
  readonly mean: number;
  /** Each of them; undefined if only the mean is known. */
  readonly each?: readonly number[] | undefined;
}

/** The newest values. */
export interface Tail {
  readonly groups: readonly Group[];
  readonly values: number;
  readonly windows: Windows;
}

export const noTail: Tail = { groups: [], values: 0, windows: noWindows };

/** Older values are forgotten. */
const MOST_VALUES = 500;
/** Fewer groups tell nothing of the spread. */
const LEAST_GROUPS = 5;
/** Of larger groups in the mean the longest value can't be told. */
const SINGLE = 6;

export function withValues(was: Tail, group: Group, { alike }: Usual, nowMs: number): Tail {
  if (group.values <= 0) return was;
  const groups = [...was.groups, group];
  const total = was.values + group.values;
  const mean = sumOf(groups) / total;
  const windows = withWindow(was.windows, nowMs, singles(group, mean, alike));
  let values = total;
  let first = 0;
  for (; first < groups.length - 1 && values > MOST_VALUES; first++)
    values -= groups[first]?.values ?? 0;
  return { groups: groups.slice(first), values, windows };
}

/** Of the newest groups only. */
export function latest({ groups }: Tail, count: number): Tail {
  const kept = groups.slice(-count);
  return {
    groups: kept,
    values: kept.reduce((sum, { values }) => sum + values, 0),
    windows: noWindows,
  };
}

const sumOf = (groups: readonly Group[]): number =>
  groups.reduce((sum, { values, mean }) => sum + values * mean, 0);

/** What is usual of a kind of values. */
export interface Usual {
  /** By which part of itself a value that is longer than seven in eight others is longer than these. */
  readonly excess: number;
  /** Values that came together are alike. */
  readonly alike: boolean;
}

/** Which values may be late. */
export interface Late {
  readonly limit: number;
  /** So large a part of the values may be above the limit, besides those that are so anyway, if each of them breaks a window. */
  readonly late: number;
  /** The same if they are above it independently of each other. */
  readonly lateAlone: number;
}

/**
 * What all values stay below but those that may be late; where groups are too large to tell single values, all but one in 1600.
 * undefined: too few are known.
 */
export function tailOf(tail: Tail, usual: Usual, allowed: Late): number | undefined {
  const { groups, values, windows } = tail;
  const sum = sumOf(groups);
  if (groups.length < LEAST_GROUPS || !(sum > 0)) return undefined;
  const mean = sum / values;
  const unknown = groups.reduce((sum, one) => sum + (one.each ? 0 : one.values), 0);
  if (unknown > SINGLE * groups.length) return fromSpread(groups, mean);
  const { limit, late, lateAlone } = allowed;
  const single = singleExcess(tail, mean, usual);
  const inWindows = windowExcess(windows, meanExcess(single));
  const most = longestBut(late, single, limit);
  if (!inWindows) return most;
  // What the windows tell counts as far as it is no less than for independent values: of few it is an accident.
  const least = longestBut(lateAlone, single, limit);
  return Math.min(most, Math.max(least, longestBut(LATE_BY_WINDOWS, inWindows, limit)));
}

/**
 * Below which that quantile of the values lies with a confidence of 95 %, by their order (a binomial number of them lies below the true
 * one); of a mean the mean. Where groups are too large to tell single values, as `tailOf`, which is more. undefined: too few are known.
 */
export function quantileOfTail(
  { groups, values }: Tail,
  { alike }: Usual,
  quantile: RequestQuantile,
): number | undefined {
  const sum = sumOf(groups);
  if (groups.length < LEAST_GROUPS || !(sum > 0)) return undefined;
  const mean = sum / values;
  if (quantile === "mean") return mean;
  if (values > SINGLE * groups.length) return fromSpread(groups, mean);
  const ascending = groups
    .flatMap((group) => singles(group, mean, alike))
    .toSorted((a, b) => a - b);
  const [n, part] = [ascending.length, partBelow[quantile]];
  const rank = Math.ceil(part * n + Z_SURE * Math.sqrt(n * part * (1 - part)));
  return ascending[Math.min(n, rank) - 1];
}

/** This part of the values is taken for the longest ones. */
const LONGEST = 1 / 8;

/**
 * What is expected of the excess follows from what is usual and, the more values are known, from the distance between the threshold and
 * the median. The mean excess is 0.4 of that for a normal distribution, 0.7 for an exponential one, and 1 for a lognormal one as wide as its
 * mean.
 */
function singleExcess({ groups, values }: Tail, mean: number, { excess, alike }: Usual): Excess {
  const descending = groups
    .flatMap((group) => singles(group, mean, alike))
    .toSorted((a, b) => b - a);
  const own = groups.length / (groups.length + PRIOR);
  return excessOf(descending, Math.ceil(values * LONGEST), (threshold) => {
    const width = threshold - (descending[values >> 1] ?? mean);
    return own * width + (1 - own) * excess * threshold;
  });
}

/** What is usual of the kind counts as so many groups. */
const PRIOR = 10;

/** Each value of a group. Means of `n` values vary less than the values by the root of `n`. */
function singles(
  { values, mean: own, each }: Group,
  mean: number,
  alike: boolean,
): readonly number[] {
  if (each) return each;
  const one = own <= mean || alike ? own : mean + Math.sqrt(values) * (own - mean);
  return Array.from({ length: values }, () => one);
}

/** Quantile of the normal distribution for one in 1600. */
const Z_PART = 3.23;
/** For a confidence of 95 %. */
const Z_SURE = 1.645;

/** If the values are distributed lognormally. */
function fromSpread(groups: readonly Group[], mean: number): number {
  const squares = groups.reduce((sum, one) => sum + one.values * (one.mean - mean) ** 2, 0);
  const variance = squares / (groups.length - 1);
  const logVariance = Math.log1p(variance / (mean * mean));
  const logMean = Math.log(mean) - logVariance / 2;
  return Math.exp(logMean + toleranceFactor(groups.length) * Math.sqrt(logVariance));
}

/**
 * So many standard deviations above the mean of `n` values lie all but one in 1600, with a confidence of 95 %: one-sided tolerance
 * limit of a normal distribution (Natrella, Experimental Statistics, NBS Handbook 91, 1963, section 2-2.4).
 */
function toleranceFactor(n: number): number {
  const a = 1 - (Z_SURE * Z_SURE) / (2 * (n - 1));
  const b = Z_PART * Z_PART - (Z_SURE * Z_SURE) / n;
  return (Z_PART + Math.sqrt(Math.max(0, Z_PART * Z_PART - a * b))) / a;
}
