// How much slower an accelerator gets by others' memory traffic, from two numbers: its own demand and the total
// demand of the others (processor-centric, as PCCS has it: whose traffic it is does not matter). Every model is
// 1 without others, never below 1, and never falls when demand grows.

/** Own demand, others' demand → time with neighbours / time alone. */
export type Slowdown = (own: number, others: number) => number;

export const noSlowdown: Slowdown = () => 1;

/** For want of measurements: once demands pass the memory's limit, everybody gets a share in proportion. */
export const shareOfLimit =
  (limit: number): Slowdown =>
  (own, others) =>
    others > 0 && own > 0 ? Math.max(1, (own + others) / limit) : 1;

/** Slowdown at knots, each list rising; `others` begins with 0, where the slowdown is 1. */
export interface SlowdownTable {
  readonly own: readonly number[];
  readonly others: readonly number[];
  /** factor[o][e] at own[o], others[e]. */
  readonly factor: readonly (readonly number[])[];
}

/** Linear between knots in both demands; beyond the outermost it stays as it is there. */
export const interpolated =
  ({ own: owns, others: externals, factor }: SlowdownTable): Slowdown =>
  (own, others) => {
    if (others <= 0) return 1;
    const o = between(owns, own);
    const e = between(externals, others);
    const at = (row: number) => {
      const low = factor[row]?.[e.low] ?? 1;
      return low + e.part * ((factor[row]?.[e.low + 1] ?? low) - low);
    };
    const low = at(o.low);
    return low + (o.part > 0 ? o.part * (at(o.low + 1) - low) : 0);
  };

/** The knot at or below `x`, and how far it is to the next. */
export function between(knots: readonly number[], x: number): { low: number; part: number } {
  let low = 0;
  while (low + 2 < knots.length && x >= (knots[low + 1] ?? 0)) low++;
  const from = knots[low] ?? 0;
  const width = (knots[low + 1] ?? from) - from;
  return { low, part: width > 0 ? Math.min(1, Math.max(0, (x - from) / width)) : 0 };
}
