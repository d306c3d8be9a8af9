// Objects that are made again each second and hardly ever change. If the old object is kept while nothing changes, whatever
// was made from it can be kept, too, and comparing two objects is one comparison of references.

/** `before` if both hold the same values, else `now`. For objects of one type that hold plain values and such objects. */
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
