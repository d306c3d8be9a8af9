// The largest share of the time that is the same always and breaks hardly more than `strict` does: what a policy is compared with.
// As the policy may, it may end in steps that read prompts.

/** A fixed share of best-effort work concurrent with requests. */
export interface Share {
  readonly share: number;
  /** It ends in steps that read prompts; else it is one of all steps alike. */
  readonly endsInPrompts: boolean;
}

const SHARES = { least: 0.01, most: 0.5, ratio: 1.1 } as const;
const STEPS = Math.floor(Math.log(SHARES.most / SHARES.least) / Math.log(SHARES.ratio));
/** A share may break so many windows more than `strict` does. */
const ALLOWED = 0.01;

/**
 * By bisection, since a larger share breaks more. `strict`: the part of the windows that `strict` breaks. undefined: even the least
 * share breaks more.
 */
export function bestFixed<T extends { readonly broken: number; readonly kept: number }>(
  strict: number,
  measure: (fixed: Share) => T,
  tell: (low: number, high: number) => void = () => {},
): (T & { readonly fixed: Share }) | undefined {
  let best: (T & { readonly fixed: Share }) | undefined;
  for (const endsInPrompts of [false, true])
    for (let [low, high] = [-1, STEPS + 1]; high - low > 1; ) {
      const step = (low + high) >> 1;
      const share = SHARES.least * SHARES.ratio ** step;
      tell(SHARES.least * SHARES.ratio ** (low + 1), SHARES.least * SHARES.ratio ** (high - 1));
      const fixed = { share, endsInPrompts };
      const measured = measure(fixed);
      if (measured.broken > strict + ALLOWED) high = step;
      else {
        low = step;
        if (!best || measured.kept > best.kept) best = { ...measured, fixed };
      }
    }
  return best;
}
