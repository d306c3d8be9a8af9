// An eviction that the API server refuses is tried later and later, so it delays no other.

const FIRST_MS = 10_000;
const MAX_MS = 600_000;

export class Evictions {
  #done: number[] = [];
  readonly #refused = new Map<string, { readonly times: number; readonly until: number }>();

  /** All times are ms, as `now`. */
  left(perMinute: number, now: number): number {
    this.#done = this.#done.filter((at) => at > now - 60_000);
    return Math.max(0, perMinute - this.#done.length);
  }

  isDue(uid: string, now: number): boolean {
    return (this.#refused.get(uid)?.until ?? now) <= now;
  }

  done(uid: string, now: number): void {
    this.#done.push(now);
    this.#refused.delete(uid);
  }

  refused(uid: string, now: number): void {
    const times = this.#refused.get(uid)?.times ?? 0;
    this.#refused.set(uid, {
      times: times + 1,
      until: now + Math.min(MAX_MS, FIRST_MS * 2 ** times),
    });
  }

  keep(there: ReadonlySet<string>): void {
    for (const uid of this.#refused.keys()) if (!there.has(uid)) this.#refused.delete(uid);
  }
}
