import { type Random, shuffle } from "#core";

export const folds = <T>(items: readonly T[], count: number, random: Random): T[][] => {
  const mixed = shuffle(items, random);
  return Array.from({ length: count }, (_, part) => mixed.filter((_, i) => i % count === part));
};
