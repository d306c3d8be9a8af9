// A window is the newest snapshot of a ring less the oldest. A histogram is 13 KB, so the two of a
// client are copied only when it has ended a burst since.
import { type HighSlot, medianByTime, quantile, type View } from "#protocol";
import { coarseHistogram, type DurationHistogram } from "../histograms/durations.ts";
import { type Counted, canBe, type Ended } from "../histograms/plausible.ts";
import { part, push, span, within } from "../histograms/window.ts";
import { type MovableMemory, movableMemory } from "../memory/movable.ts";

export interface HighMeasure {
  readonly bursts: number;
  readonly launches: number;
  readonly copies: number;
  readonly timeouts: number;
  readonly tailWrites: number;
  readonly unhooked: number;
  readonly caveats: number;
  /** Counts samples with impossible counters: what came before them is forgotten. */
  readonly implausible: number;
  readonly busySeconds: number;
  readonly burstP50Us: number | undefined;
  readonly burstP99Us: number | undefined;
  readonly burstWaitP50Us: number | undefined;
  readonly burstWaitP99Us: number | undefined;
  readonly burstsPerS: number;
  readonly activeShare: number;
  /** In this part a burst did not hold best-effort work: it started up, or seemed stuck. */
  readonly sharedShare: number;
  readonly starting: boolean;
  readonly memory: MovableMemory | undefined;
  /** Queued-ahead work found when a burst began. */
  readonly aheadMeanUs: number | undefined;
  readonly aheadMaxUs: number;
}

export interface SinceAttached {
  readonly burstP50SinceStartUs: number | undefined;
  readonly burstP99SinceStartUs: number | undefined;
  readonly burstHistogram: DurationHistogram | undefined;
  readonly burstWaitHistogram: DurationHistogram | undefined;
}

/** Larger values of queued-ahead work are implausible: another process writes them. */
const MAX_AHEAD_NS = 10e9;

interface HighSnapshot extends Counted {
  readonly at: number;
  readonly activeNs: number;
  readonly sharedNs: number;
  readonly aheadMaxNs: number;
  readonly ended: Ended;
}

type Quantiles = Pick<
  HighMeasure,
  "burstP50Us" | "burstP99Us" | "burstWaitP50Us" | "burstWaitP99Us"
> & { readonly burstByTimeUs: number | undefined };

export class HighMeter {
  readonly #slot: View<typeof HighSlot>;
  #ring: HighSnapshot[] = [];
  #burstsSince: number | undefined;
  #void: Ended | undefined;
  #since: Ended | undefined;
  #quantiles: Quantiles | undefined;
  #attached: SinceAttached | undefined;
  #attachedOf: Ended | undefined;
  #implausible = 0;

  constructor(slot: View<typeof HighSlot>) {
    this.#slot = slot;
  }

  sample(now: number): void {
    const last = this.#ring.at(-1);
    const snapshot = this.#look(now, last);
    this.#since =
      last && last.ended !== snapshot.ended ? less(snapshot.ended, last.ended) : undefined;
    if (last && !this.#follows(last, snapshot)) {
      this.#implausible++;
      this.#void = snapshot.ended;
      this.#attached = undefined;
      this.#burstsSince = undefined;
      this.#since = undefined;
      this.#ring = [];
    } else if (last && last.ended !== snapshot.ended) this.#burstsSince = last.at;
    push(this.#ring, snapshot);
    this.#quantiles = undefined;
    this.#slot.aheadMaxNs = 0;
  }

  #look(now: number, last: HighSnapshot | undefined): HighSnapshot {
    const slot = this.#slot;
    const { bursts, launches, busySince, busyNs, aheadNs, aheadMaxNs } = slot;
    const ended = last?.bursts[0] === bursts ? last.ended : readEnded(slot);
    return {
      at: now,
      bursts: [bursts, slot.bursts],
      launches,
      busyNs,
      activeNs: busyNs + (busySince === 0 ? 0 : Math.max(0, now - busySince)),
      sharedNs: slot.sharedNs,
      aheadNs,
      aheadMaxNs,
      ended,
    };
  }

  #follows(last: HighSnapshot, next: HighSnapshot): boolean {
    const between = next.at - last.at;
    const ns = next.at - Math.min(last.at, this.#burstsSince ?? Number.NEGATIVE_INFINITY);
    return canBe(last, next, this.#since, { ns, between });
  }

  measure(): HighMeasure {
    const slot = this.#slot;
    const { from, to, seconds } = span(this.#ring);
    const bursts = from && to ? to.bursts[0] - from.bursts[0] : 0;
    const { burstP50Us, burstP99Us, burstWaitP50Us, burstWaitP99Us } = this.#quantilesNow();
    return {
      bursts: slot.bursts,
      launches: slot.launches,
      copies: slot.copies,
      timeouts: slot.timeouts,
      tailWrites: slot.tailWrites,
      unhooked: slot.unhooked,
      caveats: slot.caveats,
      implausible: this.#implausible,
      busySeconds: slot.busyNs / 1e9,
      // Named one by one: a spread would make an object of this size slow and large (Node 20).
      burstP50Us,
      burstP99Us,
      burstWaitP50Us,
      burstWaitP99Us,
      burstsPerS: seconds > 0 ? bursts / seconds : 0,
      activeShare: this.activeShare(),
      sharedShare: from && to ? part(to.sharedNs - from.sharedNs, seconds) : 0,
      starting: slot.starting !== 0,
      memory: movableMemory(slot.memory, undefined, to?.at ?? 0),
      aheadMeanUs:
        from && to && bursts > 0 ? (to.aheadNs - from.aheadNs) / bursts / 1e3 : undefined,
      aheadMaxUs: Math.max(0, ...this.#ring.map(({ aheadMaxNs }) => aheadMaxNs)) / 1e3,
    };
  }

  burstP50Us(): number | undefined {
    return this.#quantilesNow().burstP50Us;
  }

  /** Half of the time in bursts was in bursts at least this long. */
  burstByTimeUs(): number | undefined {
    return this.#quantilesNow().burstByTimeUs;
  }

  activeShare(): number {
    const { from, to, seconds } = span(this.#ring);
    return from && to ? part(to.activeNs - from.activeNs, seconds) : 0;
  }

  #quantilesNow(): Quantiles {
    this.#quantiles ??= this.#quantilesOf();
    return this.#quantiles;
  }

  #quantilesOf(): Quantiles {
    const { from, to } = span(this.#ring);
    const bursts = from && to ? to.bursts[0] - from.bursts[0] : 0;
    const ended = from && to && bursts > 0 ? less(to.ended, from.ended) : undefined;
    const of = (which: keyof Ended, q: number) => ended && known(quantile(ended[which], q));
    return {
      burstP50Us: of("durations", 0.5),
      burstP99Us: of("durations", 0.99),
      burstWaitP50Us: of("waits", 0.5),
      burstWaitP99Us: of("waits", 0.99),
      burstByTimeUs: ended && known(medianByTime(ended.durations)),
    };
  }

  ended(): Uint32Array | undefined {
    return this.#since?.durations;
  }

  /** A burst that ended while both histograms were read may be in one only. */
  waited(): Uint32Array | undefined {
    return this.#since?.waits;
  }

  /** The result is in ns, between the last two samples. */
  heldNs(): number {
    const [from, to] = this.#ring.slice(-2);
    if (!from || !to) return 0;
    const held = to.activeNs - from.activeNs - (to.sharedNs - from.sharedNs);
    return within(held, to.at - from.at);
  }

  /** Both are of the time between the last two samples. */
  past(): { readonly activeNs: number; readonly aheadMaxNs: number } {
    const [from, to] = this.#ring.slice(-2);
    if (!from || !to) return { activeNs: 0, aheadMaxNs: 0 };
    const activeNs = within(to.activeNs - from.activeNs, to.at - from.at);
    return { activeNs, aheadMaxNs: within(to.aheadMaxNs, MAX_AHEAD_NS) };
  }

  launched(): number | undefined {
    const [from, to] = this.#ring.slice(-2);
    return from && to && to.launches - from.launches;
  }

  sinceAttached(): SinceAttached {
    const ended = this.#ring.at(-1)?.ended;
    if (!this.#attached || this.#attachedOf !== ended) {
      this.#attachedOf = ended;
      this.#attached = figuresOf(ended && this.#void ? less(ended, this.#void) : ended);
    }
    return this.#attached;
  }
}

function figuresOf(ended: Ended | undefined): SinceAttached {
  return {
    burstP50SinceStartUs: ended && known(quantile(ended.durations, 0.5)),
    burstP99SinceStartUs: ended && known(quantile(ended.durations, 0.99)),
    burstHistogram: ended && coarseHistogram(ended.durations),
    burstWaitHistogram: ended && coarseHistogram(ended.waits),
  };
}

const known = (x: number) => (Number.isNaN(x) ? undefined : x);

/** A burst is counted by duration first, then by wait, so they are read the other way round. */
function readEnded(slot: View<typeof HighSlot>): Ended {
  const waits = slot.waits.copy();
  return { waits, durations: slot.histogram.copy() };
}

const less = (to: Ended, from: Ended): Ended => ({
  durations: difference(to.durations, from.durations),
  waits: difference(to.waits, from.waits),
});

/** Counters are u32 and may have wrapped, as the subtraction does. */
function difference(to: Uint32Array, from: Uint32Array): Uint32Array {
  // A plain loop over these thousands of counts takes a tenth of the time of map().
  const ended = new Uint32Array(to.length);
  for (let i = 0; i < to.length; i++) ended[i] = (to[i] ?? 0) - (from[i] ?? 0);
  return ended;
}
