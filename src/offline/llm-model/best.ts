// The largest share of the time, the same in all steps, that breaks hardly more than `strict` does: what a policy is compared with.

/** Levels of the policy `cotenant` beside engines: 1 to 30 are shares, 0 is `strict`. */
const HIGHEST = 30;
/** A share may break so many windows more than `strict` does. */
const ALLOWED = 0.01;

/**
 * By bisection, since a larger share breaks more. `strict`: the part of the windows that `strict` breaks. `tell`: between which levels
 * it is looked for. undefined: even the least share breaks more.
 */
export function bestFixed<T>(
  strict: number,
  measure: (level: number) => T,
  brokenOf: (measured: T) => number,
  tell: (low: number, high: number) => void = () => {},
): { readonly level: number; readonly measured: T } | undefined {
  let best: { readonly level: number; readonly measured: T } | undefined;
  for (let [low, high] = [0, HIGHEST + 1]; high - low > 1; ) {
    tell(low + 1, high - 1);
    const level = (low + high) >> 1;
    const measured = measure(level);
    if (brokenOf(measured) <= strict + ALLOWED) {
      best = { level, measured };
      low = level;
    } else high = level;
  }
  return best;
}
