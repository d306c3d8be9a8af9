// What the counters in shared memory say about the last few seconds. A meter keeps a ring of snapshots
// of one client; a window is the newest snapshot less the oldest. A histogram is 13 KB, so the two of a high client
// are copied only when it has ended a burst since.
import { type BestEffortSlot, type HighSlot, quantile, type View } from "#protocol";
import { coarseHistogram, type DurationHistogram } from "./durations.ts";
import { type Counted, canBe, type Ended } from "./plausible.ts";

/** Snapshots in a window: at four a second, four seconds. */
const WINDOW = 16;

export interface HighMeasure {
  readonly bursts: number;
  readonly launches: number;
  readonly copies: number;
  readonly timeouts: number;
  readonly tailWrites: number;
  readonly unhooked: number;
  /** Bits of `caveats`. */
  readonly caveats: number;
  /** Looks at which the counters said what cannot be: what came before them is forgotten. */
  readonly implausible: number;
  readonly busySeconds: number;
  /** Over the last window; undefined when no burst ended in it. */
  readonly burstP50Us: number | undefined;
  readonly burstP99Us: number | undefined;
  /** Of the same bursts, the time in each in which a thread waited for the GPU. */
  readonly burstWaitP50Us: number | undefined;
  readonly burstWaitP99Us: number | undefined;
  readonly burstsPerS: number;
  /** Part of the window in which a burst ran. */
  readonly activeShare: number;
  /** Part of the window in which one ran that did not hold best-effort work: no launch was seen to end for too long. */
  readonly sharedShare: number;
  /** Launch-ahead found when a burst began: mean and largest over the window. */
  readonly aheadMeanUs: number | undefined;
  readonly aheadMaxUs: number;
}

/** Of what another process wrote, more launch-ahead than this is not believed. */
const MOST_AHEAD_NS = 10e9;

interface HighSnapshot extends Counted {
  readonly at: number;
  readonly activeNs: number;
  readonly sharedNs: number;
  readonly aheadMaxNs: number;
  /** Since the client attached. */
  readonly ended: Ended;
}

export class HighMeter {
  readonly #slot: View<typeof HighSlot>;
  #ring: HighSnapshot[] = [];
  /** When it was looked at before the look that last found bursts ended. */
  #burstsSince: number | undefined;
  /** What was counted before the counters were last found to say what cannot be. */
  #void: Ended | undefined;
  /** Bursts between the last two samples; undefined when there were none. */
  #since: Ended | undefined;
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
      this.#burstsSince = undefined;
      this.#since = undefined;
      this.#ring = [];
    } else if (last && last.ended !== snapshot.ended) this.#burstsSince = last.at;
    push(this.#ring, snapshot);
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

  /** Median of the last window; undefined when no burst ended in it. */
  burstP50Us(): number | undefined {
    const ended = this.#windowOf("durations");
    return ended && known(quantile(ended, 0.5));
  }

  #windowOf(which: keyof Ended): Uint32Array | undefined {
    const { from, to } = span(this.#ring);
    return from && to && to.bursts[0] > from.bursts[0]
      ? difference(to.ended[which], from.ended[which])
      : undefined;
  }

  measure(): HighMeasure {
    const slot = this.#slot;
    const { from, to, seconds } = span(this.#ring);
    const bursts = from && to ? to.bursts[0] - from.bursts[0] : 0;
    const [durations, waits] = [this.#windowOf("durations"), this.#windowOf("waits")];
    const quantileOf = (counts: Uint32Array | undefined, q: number) =>
      counts && known(quantile(counts, q));
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
      burstP50Us: quantileOf(durations, 0.5),
      burstP99Us: quantileOf(durations, 0.99),
      burstWaitP50Us: quantileOf(waits, 0.5),
      burstWaitP99Us: quantileOf(waits, 0.99),
      burstsPerS: seconds > 0 ? bursts / seconds : 0,
      activeShare: from && to ? part(to.activeNs - from.activeNs, seconds) : 0,
      sharedShare: from && to ? part(to.sharedNs - from.sharedNs, seconds) : 0,
      aheadMeanUs:
        from && to && bursts > 0 ? (to.aheadNs - from.aheadNs) / bursts / 1e3 : undefined,
      aheadMaxUs: Math.max(0, ...this.#ring.map(({ aheadMaxNs }) => aheadMaxNs)) / 1e3,
    };
  }

  /** Bursts between the last two samples, by bucket of duration; undefined when there were none. */
  ended(): Uint32Array | undefined {
    return this.#since?.durations;
  }

  /** The same bursts by the time in which they waited for the GPU. A burst that ended while both were read may be in one only. */
  waited(): Uint32Array | undefined {
    return this.#since?.waits;
  }

  /** For how long it held best-effort work between the last two samples, ns. */
  heldNs(): number {
    const [from, to] = this.#ring.slice(-2);
    if (!from || !to) return 0;
    const held = to.activeNs - from.activeNs - (to.sharedNs - from.sharedNs);
    return within(held, to.at - from.at);
  }

  /** Between the last two samples: time in bursts in ns, and the largest launch-ahead that one met. */
  past(): { readonly activeNs: number; readonly aheadMaxNs: number } {
    const [from, to] = this.#ring.slice(-2);
    if (!from || !to) return { activeNs: 0, aheadMaxNs: 0 };
    const activeNs = within(to.activeNs - from.activeNs, to.at - from.at);
    return { activeNs, aheadMaxNs: within(to.aheadMaxNs, MOST_AHEAD_NS) };
  }

  /** Kernels and graphs between the last two samples; undefined when there are not two. */
  launched(): number | undefined {
    const [from, to] = this.#ring.slice(-2);
    return from && to && to.launches - from.launches;
  }

  /** Since the client attached. */
  quantileUs(q: number): number | undefined {
    const durations = this.#sinceAttached()?.durations;
    return durations && known(quantile(durations, q));
  }

  /** Since the client attached. */
  histogram(which: keyof Ended): DurationHistogram | undefined {
    const counts = this.#sinceAttached()?.[which];
    return counts && coarseHistogram(counts);
  }

  #sinceAttached(): Ended | undefined {
    const ended = this.#ring.at(-1)?.ended;
    return ended && this.#void ? less(ended, this.#void) : ended;
  }
}

/** Kernels of one client that run side by side for long; a counter that says more was written over. */
const MOST_AT_ONCE = 16;

/** Where a best-effort client's time went; the rest of it is finished work. */
const losses = ["heldNs", "cappedNs", "turnNs", "emptyNs"] as const;

export interface BestEffortMeasure {
  readonly launches: number;
  readonly graphs: number;
  readonly copies: number;
  readonly chunks: number;
  readonly trickles: number;
  readonly longKernels: number;
  readonly longestKernelUs: number;
  readonly unknownLaunches: number;
  /** Long kernels that have a variant which can stop inside, and launches in such variants. */
  readonly preemptible: { readonly variants: number; readonly launches: number };
  /** Places where CUDA graphs made so far can stop inside, and graphs that have none. */
  readonly graphGates: { readonly places: number; readonly wholeGraphs: number };
  /** Matrix products given to cuBLAS in parts. */
  readonly splitProducts: number;
  readonly unhooked: number;
  /** Bits of `caveats`. */
  readonly caveats: number;
  readonly memoryUsed: number;
  readonly memoryQuota: number;
  readonly memoryRefusals: number;
  /** Launch-ahead now. */
  readonly aheadUs: number;
  readonly finishedSeconds: number;
  readonly heldSeconds: number;
  readonly cappedSeconds: number;
  readonly turnSeconds: number;
  readonly emptySeconds: number;
  /** Parts of the last window: GPU time finished, and the time that was lost. */
  readonly gpuShare: number;
  readonly heldShare: number;
  readonly cappedShare: number;
  readonly turnShare: number;
  readonly emptyShare: number;
  /** Part of the last window in which its work waited neither for high clients nor for another's turn; undefined before there is one. */
  readonly keptShare: number | undefined;
}

type BestEffortSnapshot = Readonly<Record<(typeof losses)[number] | "at" | "finishedNs", number>>;

export class BestEffortMeter {
  readonly #slot: View<typeof BestEffortSlot>;
  readonly #ring: BestEffortSnapshot[] = [];

  constructor(slot: View<typeof BestEffortSlot>) {
    this.#slot = slot;
  }

  sample(now: number): void {
    const { finishedNs, heldNs, cappedNs, turnNs, emptyNs } = this.#slot;
    push(this.#ring, { at: now, finishedNs, heldNs, cappedNs, turnNs, emptyNs });
  }

  /** Something of it was on the GPU between the last two samples. */
  ran(): boolean {
    const [from, to] = this.#ring.slice(-2);
    return this.#slot.releasedNs > 0 || (to?.finishedNs ?? 0) !== (from?.finishedNs ?? 0);
  }

  /** Between the last two samples, in ns: GPU time finished, and time that its work waited for high clients. */
  past(): { readonly finishedNs: number; readonly heldNs: number } {
    const [from, to] = this.#ring.slice(-2);
    if (!from || !to) return { finishedNs: 0, heldNs: 0 };
    const span = to.at - from.at;
    return {
      finishedNs: within(to.finishedNs - from.finishedNs, span),
      heldNs: within(to.heldNs - from.heldNs, span),
    };
  }

  measure(): BestEffortMeasure {
    const slot = this.#slot;
    const { from, to, seconds } = span(this.#ring);
    const partLost = (of: (typeof losses)[number]) =>
      from && to ? part(to[of] - from[of], seconds) : 0;
    const gpuShare = from && to ? share(to.finishedNs - from.finishedNs, seconds) : 0;
    return {
      launches: slot.launches,
      graphs: slot.graphs,
      copies: slot.copies,
      chunks: slot.chunks,
      trickles: slot.trickles,
      longKernels: slot.longKernels,
      longestKernelUs: slot.longestNs / 1e3,
      unknownLaunches: slot.unknownLaunches,
      preemptible: { variants: slot.variants, launches: slot.preemptible },
      graphGates: { places: slot.graphGates, wholeGraphs: slot.wholeGraphs },
      splitProducts: slot.splitProducts,
      unhooked: slot.unhooked,
      caveats: slot.caveats,
      memoryUsed: slot.memoryUsed,
      memoryQuota: slot.memoryQuota,
      memoryRefusals: slot.memoryRefusals,
      aheadUs: slot.releasedNs / 1e3,
      finishedSeconds: slot.finishedNs / 1e9,
      heldSeconds: slot.heldNs / 1e9,
      cappedSeconds: slot.cappedNs / 1e9,
      turnSeconds: slot.turnNs / 1e9,
      emptySeconds: slot.emptyNs / 1e9,
      gpuShare: Math.min(MOST_AT_ONCE, Math.max(0, gpuShare)),
      heldShare: partLost("heldNs"),
      cappedShare: partLost("cappedNs"),
      turnShare: partLost("turnNs"),
      emptyShare: partLost("emptyNs"),
      keptShare: seconds > 0 ? within(1 - partLost("heldNs") - partLost("turnNs"), 1) : undefined,
    };
  }
}

function push<S>(ring: S[], snapshot: S): void {
  ring.push(snapshot);
  if (ring.length > WINDOW + 1) ring.shift();
}

function span<S extends { readonly at: number }>(ring: readonly S[]) {
  const from = ring[0];
  const to = ring.at(-1);
  return { from, to, seconds: from && to ? (to.at - from.at) / 1e9 : 0 };
}

/** Of a whole, even where a counter was written over. */
const part = (ns: number, seconds: number) => within(share(ns, seconds), 1);

const within = (amount: number, most: number) => Math.min(most, Math.max(0, amount));

const share = (ns: number, seconds: number) => (seconds > 0 ? ns / 1e9 / seconds : 0);

const known = (x: number) => (Number.isNaN(x) ? undefined : x);

/** A burst is counted by how long it lasted first, then by how long it waited: so the other way round here. */
function readEnded(slot: View<typeof HighSlot>): Ended {
  const waits = slot.waits.copy();
  return { waits, durations: slot.histogram.copy() };
}

const less = (to: Ended, from: Ended): Ended => ({
  durations: difference(to.durations, from.durations),
  waits: difference(to.waits, from.waits),
});

/** Counters are u32 and may have wrapped: so does the subtraction. */
function difference(to: Uint32Array, from: Uint32Array): Uint32Array {
  const counts = to.slice();
  // A loop, not map(): the agent does this for each client several times a second.
  for (let i = 0; i < counts.length; i++) counts[i] = (to[i] ?? 0) - (from[i] ?? 0);
  return counts;
}
