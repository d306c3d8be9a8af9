// The requests that the program of a high client tells of (native/include/cotenant.h), from the histograms in its slot.
import { type RequestKind, requestKinds } from "#policy";
import { bucketMiddle, type HighSlot, quantile, type View } from "#protocol";
import { coarseHistogram, type DurationHistogram } from "../histograms/durations.ts";
import { push, span } from "../histograms/window.ts";

export type RequestTimes = Readonly<Record<RequestKind, Uint32Array>>;

/** In us. */
interface Quantiles {
  readonly meanUs: number;
  readonly p50Us: number;
  readonly p90Us: number;
  readonly p95Us: number;
  readonly p99Us: number;
}

export interface RequestMeasure {
  /** Ended in the last window. */
  readonly perS: number;
  readonly open: number;
  /** Since the client attached. */
  readonly failed: number;
  /** Begun and never ended, so that others needed their places. */
  readonly forgotten: number;
  /** Quantiles of the last window, for the kinds with a value in it. */
  readonly times: Readonly<Partial<Record<RequestKind, Quantiles>>>;
  readonly histograms: Readonly<Record<RequestKind, DurationHistogram>>;
}

interface Snapshot {
  readonly at: number;
  readonly values: number;
  readonly times: RequestTimes;
}

/** No program ends so many requests between two looks: what says so was written over. */
const MOST_VALUES = 10e6;

export class RequestMeter {
  readonly #slot: View<typeof HighSlot>;
  #ring: Snapshot[] = [];
  #measured: Omit<RequestMeasure, "open" | "failed" | "forgotten"> | undefined;

  constructor(slot: View<typeof HighSlot>) {
    this.#slot = slot;
  }

  /** Monotonic ns. */
  sample(now: number): void {
    const last = this.#ring.at(-1);
    const values = this.#slot.requestValues;
    if (values === 0) return;
    const times = last?.values === values ? last.times : readTimes(this.#slot);
    const added = values - (last?.values ?? values);
    if (added < 0 || added > MOST_VALUES) this.#ring = [];
    push(this.#ring, { at: now, values, times });
    this.#measured = undefined;
  }

  /** Some value was told since the client attached. */
  get has(): boolean {
    return this.#ring.length > 0;
  }

  /** Since the client attached. */
  total(kind: RequestKind): number {
    return countOf(this.#ring.at(-1)?.times[kind]);
  }

  /** Values between the last two samples, by bucket; undefined when there were none. */
  since(): RequestTimes | undefined {
    const [from, to] = this.#ring.slice(-2);
    return from && to && from.values !== to.values ? less(to.times, from.times) : undefined;
  }

  /** undefined: the program tells of no requests. */
  measure(): RequestMeasure | undefined {
    const { requestsOpen: open, requestsFailed: failed, requestsForgotten: forgotten } = this.#slot;
    if (!this.has && open === 0 && failed === 0) return undefined;
    this.#measured ??= this.#measure();
    const { perS, times, histograms } = this.#measured;
    return { perS, open, failed, forgotten, times, histograms };
  }

  #measure(): Omit<RequestMeasure, "open" | "failed" | "forgotten"> {
    const { from, to, seconds } = span(this.#ring);
    const ended = from && to && less(to.times, from.times);
    const quantiles = requestKinds.flatMap((kind): [RequestKind, Quantiles][] => {
      const counts = ended?.[kind];
      if (!counts || countOf(counts) === 0) return [];
      const quantiles = {
        p50Us: quantile(counts, 0.5),
        p90Us: quantile(counts, 0.9),
        p95Us: quantile(counts, 0.95),
        p99Us: quantile(counts, 0.99),
      };
      return [[kind, { meanUs: meanOf(counts), ...quantiles }]];
    });
    const nothing = new Uint32Array(0);
    return {
      perS: seconds > 0 ? countOf(ended?.e2e) / seconds : 0,
      times: Object.fromEntries(quantiles),
      histograms: each((kind) => coarseHistogram(to?.times[kind] ?? nothing)),
    };
  }
}

function each<V>(make: (kind: RequestKind) => V): Readonly<Record<RequestKind, V>> {
  return { ttft: make("ttft"), tpot: make("tpot"), itl: make("itl"), e2e: make("e2e") };
}

const readTimes = (slot: View<typeof HighSlot>): RequestTimes => each((kind) => slot[kind].copy());

/** Counters are u32 and may have wrapped: so does the subtraction. */
const less = (to: RequestTimes, from: RequestTimes): RequestTimes =>
  each((kind) => to[kind].map((count, i) => count - (from[kind][i] ?? 0)));

/** In us, of at least one value. */
function meanOf(counts: Uint32Array): number {
  let sumUs = 0;
  for (let bucket = 0; bucket < counts.length; bucket++)
    sumUs += (counts[bucket] ?? 0) * bucketMiddle(bucket);
  return sumUs / countOf(counts);
}

function countOf(counts: Uint32Array | undefined): number {
  let count = 0;
  for (let bucket = 0; bucket < (counts?.length ?? 0); bucket++) count += counts?.[bucket] ?? 0;
  return count;
}
