// What is made again and again, and hardly ever changes, keeps its identity while it does not: what was made from it is good
// as long as the object is the same one.

/** `before` if the two say the same, else `now`. Objects of the same kind, with plain values and such objects in them. */
export function kept<T>(before: T | undefined, now: T): T {
  return before !== undefined && areSame(before, now) ? before : now;
}

function areSame(before: unknown, now: unknown): boolean {
  if (Object.is(before, now)) return true;
  if (typeof before !== "object" || typeof now !== "object" || !before || !now) return false;
  const names = Object.keys(now) as (keyof typeof now)[];
  return (
    names.length === Object.keys(before).length &&
    names.every((name) => areSame(before[name], now[name]))
  );
}
