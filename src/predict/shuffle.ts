import type { Random } from "#core";

/** A copy in random order. */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const order = items.map((item) => ({ item, at: random() }));
  return order.sort((a, b) => a.at - b.at).map(({ item }) => item);
}

/** Splits into `count` parts as even as can be. */
export const folds = <T>(items: readonly T[], count: number, random: Random): T[][] => {
  const mixed = shuffled(items, random);
  return Array.from({ length: count }, (_, part) => mixed.filter((_, i) => i % count === part));
};
