import { quantile, type Random, sfc32 } from "#core";
import { bucketMiddle } from "#protocol";
import type { Ratio } from "../figures/stats.ts";

export type Block = readonly (readonly [ms: number, count: number])[];
export type Blocks = readonly Block[];

const RESAMPLES = 400;
const SEED = 1;

export const blockOfHistogram = (counts: Uint32Array): Block =>
  [...counts.entries()].flatMap(([bucket, count]) =>
    count > 0 ? [[bucketMiddle(bucket) / 1e3, count] as const] : [],
  );

export const countOf = (blocks: Blocks): number =>
  blocks.reduce((sum, block) => sum + block.reduce((all, [, count]) => all + count, 0), 0);

/** By nearest rank; NaN of nothing. */
export function quantileOf(blocks: Blocks, q: number): number {
  const sorted = blocks.flat().sort(([a], [b]) => a - b);
  const rank = Math.max(q * countOf(blocks), Number.MIN_VALUE);
  let seen = 0;
  for (const [ms, count] of sorted) {
    seen += count;
    // Counts of a divided bucket are fractions, so their sum may be a little off.
    if (seen >= rank - 1e-9) return ms;
  }
  return sorted.at(-1)?.[0] ?? Number.NaN;
}

/**
 * The bootstrap has two levels: rounds are drawn, and blocks of each. So the interval covers
 * changes from round to round, too.
 */
export function quantileRatio(
  solo: readonly Blocks[],
  colocated: readonly Blocks[],
  q: number,
): Ratio {
  const random = sfc32(SEED);
  const sides = [drawer(solo, q, random), drawer(colocated, q, random)] as const;
  const enough = Math.min(solo.length, colocated.length) >= 2;
  const drawn = Array.from({ length: enough ? RESAMPLES : 0 }, () => {
    const [alone, together] = [sides[0](), sides[1]()];
    return together / alone;
  }).filter(Number.isFinite);
  return {
    value: quantileOf(colocated.flat(), q) / quantileOf(solo.flat(), q),
    low: quantile(drawn, 0.025),
    high: quantile(drawn, 0.975),
    rounds: colocated.map((blocks, i) => quantileOf(blocks, q) / quantileOf(solo[i] ?? [], q)),
  };
}

/** All is sorted once, and drawn by weights. */
function drawer(rounds: readonly Blocks[], q: number, random: Random): () => number {
  const entries = rounds
    .flatMap((blocks, round) =>
      blocks.flatMap((block, index) => block.map(([ms, count]) => ({ ms, count, round, index }))),
    )
    .sort((a, b) => a.ms - b.ms);
  const pick = (from: number) => Math.floor(random() * from);
  return () => {
    const weights = rounds.map((blocks) => new Uint32Array(blocks.length));
    for (const _ of rounds) {
      const chosen = weights[pick(rounds.length)];
      if (!chosen) continue;
      for (let i = 0; i < chosen.length; i++) {
        const index = pick(chosen.length);
        chosen[index] = (chosen[index] ?? 0) + 1;
      }
    }
    const countIn = ({ count, round, index }: (typeof entries)[number]) =>
      count * (weights[round]?.[index] ?? 0);
    const rank = q * entries.reduce((sum, one) => sum + countIn(one), 0);
    let seen = 0;
    for (const one of entries) {
      seen += countIn(one);
      if (seen > 0 && seen >= rank - 1e-9) return one.ms;
    }
    return Number.NaN;
  };
}
