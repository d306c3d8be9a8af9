// Chance from a seed: the same seed trains the same model on every machine.

/** Numbers in [0, 1). */
export type Random = () => number;

/** mulberry32: small, fast, good enough for shuffles, bootstraps and first weights. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A copy in chance order. */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const order = items.map((item) => ({ item, at: random() }));
  return order.sort((a, b) => a.at - b.at).map(({ item }) => item);
}

/** Splits into `count` parts as even as can be. */
export const folds = <T>(items: readonly T[], count: number, random: Random): T[][] => {
  const mixed = shuffled(items, random);
  return Array.from({ length: count }, (_, part) => mixed.filter((_, i) => i % count === part));
};
