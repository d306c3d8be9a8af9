/** At four snapshots a second, a window lasts four seconds. */
const WINDOW = 16;

export function push<S>(ring: S[], snapshot: S): void {
  ring.push(snapshot);
  if (ring.length > WINDOW + 1) ring.shift();
}

export function span<S extends { readonly at: number }>(ring: readonly S[]) {
  const from = ring[0];
  const to = ring.at(-1);
  return { from, to, seconds: from && to ? (to.at - from.at) / 1e9 : 0 };
}

/** The result is 0 to 1 even where a counter was overwritten. */
export const part = (ns: number, seconds: number) => within(share(ns, seconds), 1);

export const within = (amount: number, most: number) => Math.min(most, Math.max(0, amount));

export const share = (ns: number, seconds: number) => (seconds > 0 ? ns / 1e9 / seconds : 0);
