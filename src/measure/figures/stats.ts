// Intervals come from the bootstrap (Efron 1979, percentile method) with a fixed seed, so that a
// file of times always gives the same figures.
import { quantile, quantileOfSorted, sfc32 } from "#core";

/** The interval is that of the bootstrap for 95 %, NaN with too few samples. */
export interface Ratio {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  readonly rounds: readonly number[];
}

/** Successive requests depend on each other by queueing, so blocks are resampled together. */
const BLOCK = 25;
const RESAMPLES = 400;
const MIN_SAMPLES = { blocks: 4, rounds: 2 };
const SEED = 1;

/** Both times are of one request, with the same arrivals. */
export type Pair = readonly [solo: number, colocated: number];

/** Intervals come from drawing blocks of neighbouring requests. NaN without requests. */
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

/** Second values are divided by first ones. The interval comes from drawing rounds. */
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

const middle = (drawn: readonly number[]): { low: number; high: number } => ({
  low: quantile(drawn, 0.025),
  high: quantile(drawn, 0.975),
});

/** The iteration under way counts by its fraction. `done` is sorted. */
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

export const rate = (done: readonly number[], from: number, to: number): number =>
  // Times are in ns.
  ((progress(done, to) - progress(done, from)) / (to - from)) * 1e9;

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
