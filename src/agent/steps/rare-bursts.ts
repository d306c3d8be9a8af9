// An LLM engine replays one graph for a step that only makes tokens, and launches a thousand
// kernels for one that reads prompts, which takes longer. So the number of launches tells early
// what a burst is (decision 0016).
import type { RareBursts } from "#policy";
import type { BurstRecord } from "./burst-ring.ts";

// Usual bursts have at least this part of the time: without graphs only the short bursts between
// passes launch less.
const USUAL_PART = 0.2;
const RATIO = 3;
// Rare ones take at least this part as long, else they are short bursts of a step: with best-effort
// work usual ones are longer than solo.
const LENGTH = 0.5;
const MIN_RARE_BURSTS = 3;
/** Copies count as submissions, but not as launches: a usual burst has up to some tens of them. */
const MIN_LAUNCHES = 32;
/** Half is forgotten after these bursts: minutes of an engine with a rare one every few seconds. */
const KEPT = 50_000;
const EACH = 8;
const buckets = EACH * 32;
const bucketFor = (launches: number): number =>
  Math.min(buckets - 1, Math.round(EACH * Math.log2(launches + 1)));
const launchesOf = (bucket: number): number => 2 ** (bucket / EACH) - 1;

export class BurstsByLaunches {
  readonly #bursts = new Float64Array(buckets);
  readonly #ns = new Float64Array(buckets);
  #count = 0;

  add(bursts: readonly BurstRecord[]): void {
    for (const { begin, end, launches } of bursts) {
      // Copies alone wait for best-effort work as long as that takes.
      if (launches === 0) continue;
      const bucket = bucketFor(launches);
      this.#bursts[bucket] = (this.#bursts[bucket] ?? 0) + 1;
      this.#ns[bucket] = (this.#ns[bucket] ?? 0) + end - begin;
    }
    this.#count += bursts.length;
    if (this.#count > KEPT) this.#forgetHalf();
  }

  get rare(): RareBursts | undefined {
    const all = [...this.#bursts.keys()].filter((bucket) => (this.#bursts[bucket] ?? 0) > 0);
    const from = this.#usual(all);
    const gaps = all
      .map((above, i) => ({ below: all[i - 1] ?? above, above }))
      .filter(({ below, above }) => below >= from && above - below >= EACH * Math.log2(RATIO))
      .toSorted((one, other) => other.above - other.below - (one.above - one.below));
    for (const gap of gaps) {
      const rare = this.#rareAbove(gap, all);
      if (rare) return rare;
    }
    return undefined;
  }

  #usual(all: readonly number[]): number {
    const least = USUAL_PART * this.#sum(this.#ns, all);
    let ns = 0;
    return (
      all.find((bucket) => {
        ns += this.#ns[bucket] ?? 0;
        return ns >= least;
      }) ?? buckets
    );
  }

  #rareAbove(
    gap: { readonly below: number; readonly above: number },
    all: readonly number[],
  ): RareBursts | undefined {
    const [below, above] = [launchesOf(gap.below), launchesOf(gap.above)];
    const afterLaunches = Math.round(
      Math.max(MIN_LAUNCHES, Math.min(2 * below, Math.sqrt(below * above))),
    );
    const rare = all.filter((bucket) => bucket >= gap.above);
    const count = this.#sum(this.#bursts, rare);
    if (count < MIN_RARE_BURSTS || afterLaunches >= above) return undefined;
    const ns = this.#sum(this.#ns, rare) / count;
    if (ns < LENGTH * this.#meanByTime(all.filter((bucket) => bucket < gap.above)))
      return undefined;
    const launches = rare.reduce((sum, one) => sum + (this.#bursts[one] ?? 0) * launchesOf(one), 0);
    return { afterLaunches, afterUs: (ns * afterLaunches * count) / launches / 1e3 };
  }

  /** Bursts are weighted by time, because most of a step are short ones between its passes. */
  #meanByTime(among: readonly number[]): number {
    const weighted = among.reduce(
      (sum, one) => sum + (this.#ns[one] ?? 0) ** 2 / (this.#bursts[one] || 1),
      0,
    );
    return weighted / Math.max(1, this.#sum(this.#ns, among));
  }

  #sum(of: Float64Array, among: readonly number[]): number {
    return among.reduce((sum, bucket) => sum + (of[bucket] ?? 0), 0);
  }

  #forgetHalf(): void {
    for (let bucket = 0; bucket < buckets; bucket++) {
      const keep = (this.#bursts[bucket] ?? 0) > 1 ? 0.5 : 0;
      this.#bursts[bucket] = keep * (this.#bursts[bucket] ?? 0);
      this.#ns[bucket] = keep * (this.#ns[bucket] ?? 0);
    }
    this.#count /= 2;
  }
}
