// How long the longest of a kind of requests take, from few of them. A histogram's count and sum tell the mean of the
// values that came between two answers exactly, whatever its bounds are, and most answers have one value or two. What
// exceeds a high quantile is distributed about exponentially, whatever the values are: prompts, queues or steps make them.
// Of few values the scale of that is known roughly, so what is usual counts as some values more.

/** Values that came together, of which only the mean is known. */
interface Group {
  readonly values: number;
  readonly mean: number;
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
/**
 * So many more values may be late than are anyway: one in 1600, because an objective is to hold in 99 of 100 times of ten seconds,
 * with some 16 requests in each. In all no more than one in 800.
 */
const MORE_LATE = 1 / 1600;
const MOST_LATE = 1 / 800;
/** Of larger groups in the mean the longest value can't be told. */
const SINGLE = 6;

export function withValues(was: Tail, values: number, mean: number): Tail {
  if (values <= 0) return was;
  const groups = [...was.groups, { values, mean }];
  let total = was.values + values;
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

/**
 * What all values stay below but one in 1600, and but those that are above `limit` anyway; undefined: too few are known.
 */
export function tailOf(tail: Tail, usual: Usual, limit: number): number | undefined {
  const { groups, values } = tail;
  const sum = groups.reduce((sum, one) => sum + one.values * one.mean, 0);
  if (groups.length < LEAST_GROUPS || !(sum > 0)) return undefined;
  const mean = sum / values;
  return values > SINGLE * groups.length
    ? fromSpread(tail, mean)
    : fromLongest(tail, mean, usual, limit);
}

/** This part of the values is taken for the longest ones. */
const LONGEST = 1 / 8;
/** What is usual counts as so many of the longest. */
const USUAL = 4;
/** The longest of all may be an accident that tells nothing of others: it counts as no longer than so. */
const ACCIDENT = 2;

/**
 * If the values above the threshold are distributed exponentially above it. The mean excess has a gamma prior, which makes the
 * probability of an excess `x` a Lomax tail, (1 + x / sum)^-n, with the sum of `n` excesses.
 */
function fromLongest(
  { groups, values }: Tail,
  mean: number,
  { excess, alike }: Usual,
  limit: number,
): number {
  const longest = singles(groups, mean, alike).toSorted((a, b) => b - a);
  const count = Math.ceil(values * LONGEST);
  const threshold = longest[count] ?? mean;
  const excesses = longest.slice(0, count).map((value) => value - threshold);
  const [first = 0, second = first] = excesses;
  const seen = excesses.reduce((sum, one) => sum + one, 0) - first;
  const sum = seen + Math.min(first, ACCIDENT * second) + USUAL * excess * threshold;
  const power = count + USUAL;
  const above = (count / values) * (1 + Math.max(0, limit - threshold) / sum) ** -power;
  const late = Math.min(MOST_LATE, above + MORE_LATE);
  return threshold + sum * ((count / values / late) ** (1 / power) - 1);
}

/** Means of `n` values vary less than the values by the root of `n`. */
const singles = (groups: readonly Group[], mean: number, alike: boolean): readonly number[] =>
  groups.flatMap(({ values, mean: own }) => {
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
