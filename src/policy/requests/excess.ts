// How long the longest values are, from those above a threshold. What exceeds a high quantile is distributed about exponentially,
// whatever the values are: prompts, queues or steps make them.

export interface Excess {
  readonly threshold: number;
  /** This part of the values is above the threshold. */
  readonly part: number;
  /** The mean excess is known from so many values, the expected ones included, and from their sum. */
  readonly power: number;
  readonly sum: number;
}

/** What is expected counts as so many of the longest values. */
const EXPECTED = 4;
/** The longest of all may be an accident that tells nothing of others: it counts as no longer than so. */
const ACCIDENT = 2;

/** Of `count` values above the next longest one. `expectedAbove`: by how much they exceed that one in the mean, as far as is known without them. */
export function excessOf(
  descending: readonly number[],
  count: number,
  expectedAbove: (threshold: number) => number,
): Excess {
  const threshold = descending[count] ?? descending.at(-1) ?? 0;
  const excesses = descending.slice(0, count).map((value) => value - threshold);
  const [first = 0, second = first] = excesses;
  const seen = excesses.reduce((sum, one) => sum + one, 0) - first;
  const sum = seen + Math.min(first, ACCIDENT * second) + EXPECTED * expectedAbove(threshold);
  return { threshold, part: count / descending.length, power: count + EXPECTED, sum };
}

export const meanExcess = ({ sum, power }: Excess): number => sum / power;

/**
 * What all values stay below but a part of `late`, and those that are above `limit` anyway; in all no more than twice `late`. The
 * mean excess has a gamma prior, which makes the probability of an excess `x` a Lomax tail, (1 + x / sum)^-power.
 */
export function longestBut(
  late: number,
  { threshold, part, power, sum }: Excess,
  limit: number,
): number {
  const anyway = part * (1 + Math.max(0, limit - threshold) / sum) ** -power;
  const above = Math.min(2 * late, anyway + late);
  return threshold + sum * ((part / above) ** (1 / power) - 1);
}
