// Bursts or steps with and without best-effort work are compared at equal load (decision 0043).
import { bucketMiddle } from "#protocol";
import type { Unit } from "../meters/units.ts";

interface Quantiles {
  readonly p50Us: number;
  readonly p99Us: number;
}

export interface LatencyMeasure {
  readonly unit: Unit;
  readonly shared: Quantiles & { readonly samples: number };
  /** It is weighted to the load of `shared`; `samples` counts before weighting. */
  readonly solo: Quantiles & { readonly samples: number };
  readonly perS: number;
}

export interface EndedSample {
  readonly at: number;
  readonly unit: Unit;
  readonly durations: Uint32Array | undefined;
  /** Best-effort work ran meanwhile; undefined: unknown. */
  readonly concurrent: boolean | undefined;
  /** Other best-effort clients of the GPU make another pair. */
  readonly sharers: string;
}

/** The p99 of fewer is nearly their maximum. */
export const MIN_LATENCIES = 100;
const MIN_COVERED = 0.5;
/** Rates in one class of load differ by this factor at most. */
const LOAD_STEP = Math.SQRT2;
const LOAD_NS = 4e9;
/** A class of this size starts again, and its former samples count once more. */
const MAX_CLASS_SAMPLES = 10_000;
const SHARED_PERIOD_NS = 300e9;
const MAX_CLASSES = 24;
type Counts = Map<number, number>;

interface Histogram {
  readonly counts: Counts;
  samples: number;
}

type Generations = [latest: Histogram, former: Histogram];
type ByLoad = Map<number, Generations>;

const empty = (): Histogram => ({ counts: new Map(), samples: 0 });

export class LatencyMeter {
  #unit: Unit | undefined;
  #sharers = "";
  #solo: ByLoad = new Map();
  #shared: ByLoad = new Map();
  #sharedSince = Number.NEGATIVE_INFINITY;
  #ends: { readonly at: number; readonly count: number }[] = [];

  add({ at, unit, durations, concurrent, sharers }: EndedSample): void {
    if (unit !== this.#unit) {
      this.#unit = unit;
      this.#solo = new Map();
      this.#shared = new Map();
      this.#ends = [];
    }
    if (sharers !== this.#sharers) this.#shared = new Map();
    this.#sharers = sharers;
    this.#ends.push({ at, count: durations?.reduce((sum, count) => sum + count, 0) ?? 0 });
    while (this.#ends.length > 2 && at - (this.#ends[1]?.at ?? at) >= LOAD_NS) this.#ends.shift();
    if (!durations || concurrent === undefined || at - (this.#ends[0]?.at ?? at) < LOAD_NS / 2)
      return;
    if (concurrent && at - this.#sharedSince > SHARED_PERIOD_NS) {
      this.#sharedSince = at;
      this.#shared = nextGeneration(this.#shared);
    }
    this.#count(concurrent ? this.#shared : this.#solo, durations, !concurrent);
  }

  #count(byLoad: ByLoad, durations: Uint32Array, isBounded: boolean): void {
    const load = loadClass(rateOf(this.#ends));
    const known = byLoad.get(load);
    if (known === undefined && byLoad.size >= MAX_CLASSES) return;
    let [latest, former] = known ?? [empty(), empty()];
    if (isBounded && latest.samples >= MAX_CLASS_SAMPLES) [latest, former] = [empty(), latest];
    for (let bucket = 0; bucket < durations.length; bucket++) {
      const count = durations[bucket] ?? 0;
      if (count === 0) continue; // most of thousands
      latest.counts.set(bucket, (latest.counts.get(bucket) ?? 0) + count);
      latest.samples += count;
    }
    byLoad.set(load, [latest, former]);
  }

  measure(): LatencyMeasure | undefined {
    const weights = new Map<number, number>();
    const shared: Counts = new Map();
    const solo: Counts = new Map();
    let [all, covered, soloSamples, inverse] = [0, 0, 0, 0];
    for (const [load, generations] of this.#shared) {
      const samples = samplesIn(generations);
      const there = samplesIn(this.#solo.get(load) ?? [empty(), empty()]);
      all += samples;
      inverse += samples / LOAD_STEP ** (load + 0.5);
      if (there === 0) continue;
      covered += samples;
      soloSamples += there;
      weights.set(load, samples / there);
      addTo(shared, generations, 1);
    }
    const isKnown =
      covered >= MIN_LATENCIES && soloSamples >= MIN_LATENCIES && covered >= MIN_COVERED * all;
    if (!isKnown || this.#unit === undefined) return undefined;
    for (const [load, weight] of weights) addTo(solo, this.#solo.get(load) ?? [], weight);
    return {
      unit: this.#unit,
      shared: { ...quantilesOf(shared), samples: covered },
      solo: { ...quantilesOf(solo), samples: soloSamples },
      perS: all / inverse,
    };
  }
}

function rateOf(ends: readonly { readonly at: number; readonly count: number }[]): number {
  const [first, ...later] = ends;
  const ns = (ends.at(-1)?.at ?? 0) - (first?.at ?? 0);
  return ns > 0 ? (later.reduce((sum, { count }) => sum + count, 0) * 1e9) / ns : 0;
}

const loadClass = (perS: number): number =>
  Math.floor(Math.log(Math.max(perS, 0.1)) / Math.log(LOAD_STEP));

const nextGeneration = (byLoad: ByLoad): ByLoad =>
  new Map(
    [...byLoad].flatMap(([load, [latest]]): [number, Generations][] =>
      latest.samples > 0 ? [[load, [empty(), latest]]] : [],
    ),
  );

const samplesIn = ([latest, former]: Generations): number => latest.samples + former.samples;

function addTo(sum: Counts, generations: readonly Histogram[], weight: number): void {
  for (const { counts } of generations)
    for (const [bucket, count] of counts) sum.set(bucket, (sum.get(bucket) ?? 0) + weight * count);
}

function quantilesOf(counts: Counts): Quantiles {
  const sorted = [...counts].sort(([one], [other]) => one - other);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  const quantile = (q: number): number => {
    let seen = 0;
    for (const [bucket, count] of sorted) {
      seen += count;
      // Weights are no integers: a sum may lack its last bit.
      if (seen >= q * total * (1 - 1e-12)) return bucketMiddle(bucket);
    }
    return Number.NaN;
  };
  return { p50Us: quantile(0.5), p99Us: quantile(0.99) };
}
