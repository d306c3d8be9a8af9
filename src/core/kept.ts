// If an object that is made each second stays the same one, whatever was made from it can stay,
// too, and a comparison is one of references.

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
