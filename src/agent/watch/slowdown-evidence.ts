// Only work that ended while best-effort work ran is compared: otherwise nobody can be held
// responsible for the client's slowness.
import { type AloneBursts, slowdownOf } from "#policy";
import { bucketCount, quantile } from "#protocol";
import type { Unit } from "../meters/units.ts";

/** The p99 of fewer is nearly their maximum, which one outlier decides. */
export const MIN_SAMPLES = 100;
/** Fewer solo ones still show that the client can be as slow by itself. */
const MIN_SOLO_SAMPLES = 20;
const WINDOW_NS = 4e9;
/** Older ones join while there are fewer than MIN_SAMPLES. */
const MAX_WINDOW_NS = 60e9;
/** Solo bursts are retained for one to two of these. */
const SOLO_PERIOD_NS = 300e9;

export interface EndedWork {
  readonly at: number; // monotonic ns
  readonly unit: Unit;
  readonly durations: Uint32Array | undefined;
  readonly waits: Uint32Array | undefined;
  readonly concurrent: boolean | undefined; // undefined: contradictory observations
}

interface ConcurrentSample {
  readonly at: number;
  readonly count: number;
  readonly waits: readonly (readonly [bucket: number, count: number])[];
}

interface Solo {
  readonly durations: Uint32Array;
  readonly waits: Uint32Array;
}

const newSolo = (): Solo => ({
  durations: new Uint32Array(bucketCount),
  waits: new Uint32Array(bucketCount),
});

export class SlowdownEvidence {
  #unit: Unit | undefined;
  #concurrent: ConcurrentSample[] = []; // the oldest first
  #ranAt = Number.NEGATIVE_INFINITY;
  #solo = newSolo();
  #formerSolo = newSolo();
  #soloSince = Number.NEGATIVE_INFINITY;

  add({ at, unit, durations, waits, concurrent }: EndedWork): void {
    if (unit !== this.#unit) this.#restart(unit);
    if (concurrent === false && durations && waits) this.#addSolo(at, durations, waits);
    if (!concurrent) return; // nor is anything forgotten: the slowdown must not rise meanwhile
    this.#ranAt = at;
    if (waits) this.#concurrent.push(sampleOf(at, waits));
    this.#forget(at);
  }

  /** Steps and bursts are no evidence for each other. */
  #restart(unit: Unit): void {
    this.#unit = unit;
    this.#concurrent = [];
    [this.#solo, this.#formerSolo] = [newSolo(), newSolo()];
  }

  #addSolo(at: number, durations: Uint32Array, waits: Uint32Array): void {
    if (at - this.#soloSince > SOLO_PERIOD_NS) {
      [this.#formerSolo, this.#solo] = [this.#solo, newSolo()];
      this.#soloSince = at;
    }
    addTo(this.#solo.durations, durations);
    addTo(this.#solo.waits, waits);
  }

  #forget(now: number): void {
    let left = this.#count();
    const first = this.#concurrent.findIndex(({ at, count }) => {
      const needed = left - count < MIN_SAMPLES && now - at <= MAX_WINDOW_NS;
      if (needed || now - at <= WINDOW_NS) return true;
      left -= count;
      return false;
    });
    this.#concurrent = first < 0 ? [] : this.#concurrent.slice(first);
  }

  #count(): number {
    return this.#concurrent.reduce((sum, { count }) => sum + count, 0);
  }

  /**
   * Returns a part of the solo p99 (reference in us, `now` in monotonic ns): the smaller one where
   * the client was slower solo lately than its reference says. undefined: no best-effort work ran
   * in the last seconds, or too little ended.
   */
  slowdown(now: number, reference: AloneBursts | undefined): number | undefined {
    if (!reference || now - this.#ranAt > WINDOW_NS || this.#count() < MIN_SAMPLES)
      return undefined;
    const all = new Uint32Array(bucketCount);
    for (const { waits } of this.#concurrent)
      for (const [bucket, count] of waits) all[bucket] = (all[bucket] ?? 0) + count;
    const burstWaitP99Us = quantile(all, 0.99);
    const slowdowns = [reference, this.#soloTimes()].flatMap(
      (times) => slowdownOf({ burstWaitP99Us }, times) ?? [],
    );
    return slowdowns.length > 0 ? Math.min(...slowdowns) : undefined;
  }

  #soloTimes(): AloneBursts | undefined {
    const [durations, waits] = (["durations", "waits"] as const).map((of) =>
      this.#solo[of].map((count, bucket) => count + (this.#formerSolo[of][bucket] ?? 0)),
    );
    if (!durations || !waits) return undefined;
    const count = durations.reduce((sum, n) => sum + n, 0);
    if (count < MIN_SOLO_SAMPLES) return undefined;
    return { p99Us: quantile(durations, 0.99), waitedP99Us: quantile(waits, 0.99) };
  }
}

function sampleOf(at: number, counts: Uint32Array): ConcurrentSample {
  const waits: [number, number][] = [];
  let count = 0;
  for (const [bucket, n] of counts.entries()) {
    if (n === 0) continue;
    waits.push([bucket, n]);
    count += n;
  }
  return { at, count, waits };
}

function addTo(sum: Uint32Array, counts: Uint32Array): void {
  for (let bucket = 0; bucket < counts.length; bucket++)
    sum[bucket] = (sum[bucket] ?? 0) + (counts[bucket] ?? 0);
}
