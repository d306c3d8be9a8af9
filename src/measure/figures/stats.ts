// Computes figures with intervals from times of requests and iterations. Intervals come from the bootstrap (Efron 1979,
// percentile method) with a fixed seed, so that a file of times always gives the same figures.
import { quantile, quantileOfSorted, sfc32 } from "#core";

/** A figure, its 95 % bootstrap interval (NaN if there were too few samples), and the figure of each round. */
export interface Ratio {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  readonly rounds: readonly number[];
}

/** Successive requests depend on each other by queueing, so blocks of this many are resampled together. */
const BLOCK = 25;
const RESAMPLES = 400;
/** Fewer blocks or rounds than this are too few for an interval. */
const MIN_SAMPLES = { blocks: 4, rounds: 2 };
const SEED = 1;

/** Times of one request alone and co-located, with the same arrivals. */
export type Pair = readonly [solo: number, colocated: number];

/**
 * For each q, the co-located quantile divided by solo's, over all rounds. Intervals come from drawing blocks of
 * neighbouring requests. NaN if there is no request.
 */
export function slowdowns(
  rounds: readonly (readonly Pair[])[],
  quantiles: readonly number[],
): Ratio[] {
  const blocks = rounds.flatMap((pairs) =>
    Array.from({ length: Math.ceil(pairs.length / BLOCK) }, (_, i) =>
      sidesOf(pairs.slice(i * BLOCK, (i + 1) * BLOCK)),
    ),
  );
  const random = sfc32(SEED);
  const drawn = Array.from({ length: blocks.length < MIN_SAMPLES.blocks ? 0 : RESAMPLES }, () =>
    ratios(
      blocks.flatMap(() => blocks[Math.floor(random() * blocks.length)] ?? []),
      quantiles,
    ),
  );
  const values = ratios(blocks, quantiles);
  const byRound = rounds.map((pairs) => ratios([sidesOf(pairs)], quantiles));
  return quantiles.map((_, i) => {
    const at = (all: readonly number[]) => all[i] ?? Number.NaN;
    return { value: at(values), ...middle(drawn.map(at)), rounds: byRound.map(at) };
  });
}

interface Sides {
  readonly solo: Float64Array;
  readonly colocated: Float64Array;
}

const sidesOf = (pairs: readonly Pair[]): Sides => ({
  solo: Float64Array.from(pairs, ([time]) => time),
  colocated: Float64Array.from(pairs, ([, time]) => time),
});

function ratios(blocks: readonly Sides[], quantiles: readonly number[]): number[] {
  const solo = concatenate(blocks.map((block) => block.solo)).sort();
  const colocated = concatenate(blocks.map((block) => block.colocated)).sort();
  return quantiles.map((q) => quantileOfSorted(colocated, q) / quantileOfSorted(solo, q));
}

function concatenate(parts: readonly Float64Array[]): Float64Array {
  const whole = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The sum of all second values divided by the sum of all first ones. The interval comes from drawing rounds. */
export function meanRatio(rounds: readonly Pair[]): Ratio {
  const ratio = (chosen: readonly Pair[]) =>
    chosen.reduce((sum, [, second]) => sum + second, 0) /
    chosen.reduce((sum, [first]) => sum + first, 0);
  const random = sfc32(SEED);
  const drawn = Array.from({ length: rounds.length < MIN_SAMPLES.rounds ? 0 : RESAMPLES }, () =>
    ratio(rounds.map((round) => rounds[Math.floor(random() * rounds.length)] ?? round)),
  );
  return {
    value: ratio(rounds),
    ...middle(drawn),
    rounds: rounds.map((round) => ratio([round])),
  };
}

/** The middle 95 % of the samples; NaN if there are none. */
const middle = (drawn: readonly number[]): { low: number; high: number } => ({
  low: quantile(drawn, 0.025),
  high: quantile(drawn, 0.975),
});

/** Iterations done by time t. The one under way counts by its fraction. `done` is sorted. */
function progress(done: readonly number[], t: number): number {
  let low = 0;
  let high = done.length;
  while (low < high) {
    const half = (low + high) >> 1;
    if ((done[half] ?? 0) <= t) low = half + 1;
    else high = half;
  }
  const before = done[low - 1];
  const after = done[low];
  if (before === undefined || after === undefined) return low;
  return low + (t - before) / (after - before);
}

/** Iterations a second between two times in ns. */
export const rate = (done: readonly number[], from: number, to: number): number =>
  ((progress(done, to) - progress(done, from)) / (to - from)) * 1e9;

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
