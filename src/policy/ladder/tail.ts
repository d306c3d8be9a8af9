// How long the longest of a kind of requests take, from few of them. A histogram's count and sum tell the mean of the
// values that came between two answers exactly, whatever its bounds are, and most answers have one value or two. What
// exceeds a high quantile is distributed about exponentially, whatever the values are: prompts, queues or steps make them.
// Of few values the scale of that is known roughly, so what is usual counts as some values more.

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
}

export const noTail: Tail = { groups: [], values: 0 };

/** Older values are forgotten. */
const MOST_VALUES = 500;
/** Fewer groups tell nothing of the spread. */
const LEAST_GROUPS = 5;
/** Of larger groups in the mean the longest value can't be told. */
const SINGLE = 6;

export function withValues(was: Tail, group: Group): Tail {
  if (group.values <= 0) return was;
  const groups = [...was.groups, group];
  let total = was.values + group.values;
  let first = 0;
  for (; first < groups.length - 1 && total > MOST_VALUES; first++)
    total -= groups[first]?.values ?? 0;
  return { groups: groups.slice(first), values: total };
}

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
  /** So large a part of the values may be above the limit, besides those that are so anyway. In all no more than twice as many. */
  readonly late: number;
}

/**
 * What all values stay below but those that may be late; where groups are too large to tell single values, all but one in 1600.
 * undefined: too few are known.
 */
export function tailOf(tail: Tail, usual: Usual, allowed: Late): number | undefined {
  const { groups, values } = tail;
  const sum = groups.reduce((sum, one) => sum + one.values * one.mean, 0);
  if (groups.length < LEAST_GROUPS || !(sum > 0)) return undefined;
  const mean = sum / values;
  const unknown = groups.reduce((sum, one) => sum + (one.each ? 0 : one.values), 0);
  return unknown > SINGLE * groups.length
    ? fromSpread(tail, mean)
    : fromLongest(tail, mean, usual, allowed);
}

/** This part of the values is taken for the longest ones. */
const LONGEST = 1 / 8;
/** What is usual counts as so many of the longest. */
const USUAL = 4;
/** The longest of all may be an accident that tells nothing of others: it counts as no longer than so. */
const ACCIDENT = 2;

/**
 * If the values above the threshold are distributed exponentially above it. The mean excess has a gamma prior, which makes the
 * probability of an excess `x` a Lomax tail, (1 + x / sum)^-n, with the sum of `n` excesses. What is expected of it follows from what is
 * usual and, the more values are known, from the distance between the threshold and the median. The mean excess is 0.4 of that for a normal
 * distribution, 0.7 for an exponential one, and 1 for a lognormal one as wide as its mean.
 */
function fromLongest(
  { groups, values }: Tail,
  mean: number,
  { excess, alike }: Usual,
  allowed: Late,
): number {
  const longest = singles(groups, mean, alike).toSorted((a, b) => b - a);
  const count = Math.ceil(values * LONGEST);
  const threshold = longest[count] ?? mean;
  const excesses = longest.slice(0, count).map((value) => value - threshold);
  const [first = 0, second = first] = excesses;
  const seen = excesses.reduce((sum, one) => sum + one, 0) - first;
  const width = threshold - (longest[values >> 1] ?? mean);
  const own = groups.length / (groups.length + PRIOR);
  const expected = own * width + (1 - own) * excess * threshold;
  const sum = seen + Math.min(first, ACCIDENT * second) + USUAL * expected;
  const power = count + USUAL;
  const above = (count / values) * (1 + Math.max(0, allowed.limit - threshold) / sum) ** -power;
  const late = Math.min(2 * allowed.late, above + allowed.late);
  return threshold + sum * ((count / values / late) ** (1 / power) - 1);
}

/** What is usual of the kind counts as so many groups. */
const PRIOR = 10;

/** Means of `n` values vary less than the values by the root of `n`. */
const singles = (groups: readonly Group[], mean: number, alike: boolean): readonly number[] =>
  groups.flatMap(({ values, mean: own, each }) => {
    if (each) return each;
    const one = own <= mean || alike ? own : mean + Math.sqrt(values) * (own - mean);
    return Array.from({ length: values }, () => one);
  });

/** Quantile of the normal distribution for one in 1600. */
const Z_PART = 3.23;
/** For a confidence of 95 %. */
const Z_SURE = 1.645;

/** If the values are distributed lognormally. */
function fromSpread({ groups }: Tail, mean: number): number {
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
