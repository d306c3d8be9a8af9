// How much the memory traffic of others slows an accelerator. It depends on two numbers: its own demand, and the total
// demand of the others (processor-centric, as in PCCS: it does not matter which others). Every model is 1 without
// others, never below 1, and never falls when a demand grows.

/** (own demand, others' demand) → time with neighbours / time alone. */
export type Slowdown = (own: number, others: number) => number;

export const noSlowdown: Slowdown = () => 1;

/** A model without measurements: if demands exceed the memory's limit, each gets a share in proportion. */
export const shareOfLimit =
  (limit: number): Slowdown =>
  (own, others) =>
    others > 0 && own > 0 ? Math.max(1, (own + others) / limit) : 1;

/** Slowdown at knots. Both lists ascend, and `others` begins with 0, where the slowdown is 1. */
export interface SlowdownTable {
  readonly own: readonly number[];
  readonly others: readonly number[];
  /** factor[o][e] belongs to own[o] and others[e]. */
  readonly factor: readonly (readonly number[])[];
}

/** Linear between knots in both demands, and constant beyond the outermost knots. */
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

/** The knot at or below `x`, and how far `x` is on the way to the next, 0 to 1. */
export function between(knots: readonly number[], x: number): { low: number; part: number } {
  let low = 0;
  while (low + 2 < knots.length && x >= (knots[low + 1] ?? 0)) low++;
  const from = knots[low] ?? 0;
  const width = (knots[low + 1] ?? from) - from;
  return { low, part: width > 0 ? Math.min(1, Math.max(0, (x - from) / width)) : 0 };
}
