// How long the longest of a kind of requests take, from few of them. A histogram's count and sum tell the mean of the
// values that came between two answers exactly, whatever its bounds are. Three estimates follow, and the lowest one counts,
// because each is too high where its assumption is wrong: from mean and spread, for values that are alike; from the longest; and
// from the second longest, where the longest is an accident that tells nothing of the others.

/** Values come as a few together, of which only the mean is known. */
export interface Tail {
  /** Values and groups of them; old ones count less. */
  readonly values: number;
  readonly groups: number;
  readonly mean: number;
  /** Sum over groups of their size times the squared distance from the mean: the variance of one value, for each group. */
  readonly squares: number;
  /** The two longest of the newest values, of which there are so many, and of as many before them. */
  readonly longest: TwoLongest;
  readonly newest: number;
  readonly longestBefore: TwoLongest;
}

type TwoLongest = readonly [first: number, second: number];

export const noTail: Tail = {
  values: 0,
  groups: 0,
  mean: 0,
  squares: 0,
  longest: [0, 0],
  newest: 0,
  longestBefore: [0, 0],
};

/** After so many values, older ones are forgotten at the rate at which new ones come. */
const MOST_VALUES = 500;
/** Fewer groups tell nothing of the spread. */
const LEAST_GROUPS = 5;
/** One value in so many may be longer. */
const ONE_IN = 1000;
/** Quantile of the normal distribution for 99.9 %: an objective is to hold in each ten seconds, with few requests in them. */
const Z_PART = 3.09;
/** For a confidence of 95 %. */
const Z_SURE = 1.645;

export function withValues(was: Tail, values: number, mean: number): Tail {
  if (values <= 0) return was;
  const keep = Math.max(0, 1 - values / MOST_VALUES);
  const before = keep * was.values;
  const total = before + values;
  const distance = mean - was.mean;
  const turns = was.newest >= MOST_VALUES / 2;
  return {
    longest: twoLongest(...(turns ? [] : was.longest), mean),
    newest: turns ? values : was.newest + values,
    longestBefore: turns ? was.longest : was.longestBefore,
    values: total,
    groups: keep * was.groups + 1,
    mean: was.mean + (distance * values) / total,
    // Welford's update, weighted.
    squares: keep * was.squares + (values * before * distance * distance) / total,
  };
}

function twoLongest(...values: readonly number[]): TwoLongest {
  const [first = 0, second = 0] = values.toSorted((a, b) => b - a);
  return [first, second];
}

/** What 99.9 % of the values stay below; undefined: too few are known. */
export function tailOf(tail: Tail): number | undefined {
  if (tail.groups < LEAST_GROUPS || !(tail.mean > 0)) return undefined;
  return Math.min(fromSpread(tail), fromLongest(tail));
}

/** If the values are distributed lognormally. */
function fromSpread({ groups, mean, squares }: Tail): number {
  const variance = squares / (groups - 1);
  const logVariance = Math.log1p(variance / (mean * mean));
  const logMean = Math.log(mean) - logVariance / 2;
  return Math.exp(logMean + toleranceFactor(groups) * Math.sqrt(logVariance));
}

/**
 * The longest of `n` values that are distributed exponentially is about `ln n + 0.577` times their mean, and the second longest
 * one mean less (Rényi's representation of order statistics).
 */
const expectedLongest = (n: number): number => Math.log(n) + 0.577;
/** Of larger groups the mean tells nothing about the longest. */
const SINGLE = 6;

/** If the longest values are distributed exponentially. */
function fromLongest({ values, groups, longest, longestBefore }: Tail): number {
  if (values > SINGLE * groups) return Number.POSITIVE_INFINITY;
  const [first, second] = twoLongest(...longest, ...longestBefore);
  const expected = expectedLongest(groups);
  return expectedLongest(ONE_IN) * Math.min(first / expected, second / (expected - 1));
}

/**
 * So many standard deviations above the mean of `n` values lie 99.9 % of all, with a confidence of 95 %: one-sided tolerance
 * limit of a normal distribution (Natrella, Experimental Statistics, NBS Handbook 91, 1963, section 2-2.4).
 */
function toleranceFactor(n: number): number {
  const a = 1 - (Z_SURE * Z_SURE) / (2 * (n - 1));
  const b = Z_PART * Z_PART - (Z_SURE * Z_SURE) / n;
  return (Z_PART + Math.sqrt(Math.max(0, Z_PART * Z_PART - a * b))) / a;
}
