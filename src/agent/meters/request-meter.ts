// A program reports requests (native/include/cotenant.h) in its slot; others report for it in files
// (reporters.ts). Their counts are added up.
import { type RequestKind, requestKinds } from "#policy";
import { bucketMiddle, quantile } from "#protocol";
import { coarseHistogram, type DurationHistogram } from "../histograms/durations.ts";
import { push, span } from "../histograms/window.ts";
import type { RequestCounters } from "../reporters/reporters.ts";

export type RequestTimes = Readonly<Record<RequestKind, Uint32Array>>;

interface Quantiles {
  readonly meanUs: number;
  readonly p50Us: number;
  readonly p90Us: number;
  readonly p95Us: number;
  readonly p99Us: number;
}

export interface RequestMeasure {
  readonly perS: number; // counts the last window
  readonly open: number;
  readonly failed: number;
  /** Such requests never ended, and others needed their places. */
  readonly forgotten: number;
  readonly times: Readonly<Partial<Record<RequestKind, Quantiles>>>;
  readonly histograms: Readonly<Record<RequestKind, DurationHistogram>>;
}

interface Snapshot {
  readonly at: number;
  readonly values: number;
  readonly times: RequestTimes;
}

/** No program ends as many requests between two samples: the counter was overwritten. */
const MAX_VALUES = 10e6;

interface Reading {
  readonly values: number;
  readonly times: RequestTimes;
}

export class RequestMeter {
  readonly #slot: RequestCounters;
  readonly #reports: () => readonly RequestCounters[];
  #tellers: ReadonlyMap<RequestCounters, Reading> = new Map();
  #ring: Snapshot[] = [];
  #measured: Omit<RequestMeasure, "open" | "failed" | "forgotten"> | undefined;

  /** `reports`: counters that report for the client now, and began at zero. */
  constructor(slot: RequestCounters, reports: () => readonly RequestCounters[] = () => []) {
    this.#slot = slot;
    this.#reports = reports;
  }

  sample(now: number): void {
    const before = this.#tellers;
    this.#tellers = new Map(
      this.#all()
        .filter(({ requestValues }) => requestValues > 0)
        .map((teller) => [teller, toldBy(teller, before.get(teller))]),
    );
    // The counts of a process that has gone are not known any more.
    if ([...before.keys()].some((teller) => !this.#tellers.has(teller))) this.#restart();
    const last = this.#ring.at(-1);
    const told = [...this.#tellers.values()];
    if (told.length === 0) return;
    const values = told.reduce((sum, one) => sum + one.values, 0);
    const times = last?.values === values ? last.times : sumOf(told.map((one) => one.times));
    const added = values - (last?.values ?? values);
    if (added < 0 || added > MAX_VALUES) this.#restart();
    push(this.#ring, { at: now, values, times });
    this.#measured = undefined;
  }

  #restart(): void {
    this.#ring = [];
    this.#measured = undefined;
  }

  #all(): readonly RequestCounters[] {
    return [this.#slot, ...this.#reports()];
  }

  get has(): boolean {
    return this.#ring.length > 0;
  }

  total(kind: RequestKind): number {
    return countOf(this.#ring.at(-1)?.times[kind]);
  }

  since(): RequestTimes | undefined {
    const [from, to] = this.#ring.slice(-2);
    return from && to && from.values !== to.values ? less(to.times, from.times) : undefined;
  }

  measure(): RequestMeasure | undefined {
    const all = this.#all();
    const sum = (name: "requestsOpen" | "requestsFailed" | "requestsForgotten") =>
      all.reduce((total, counters) => total + counters[name], 0);
    const [open, failed, forgotten] = [
      sum("requestsOpen"),
      sum("requestsFailed"),
      sum("requestsForgotten"),
    ];
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

const each = <V>(make: (kind: RequestKind) => V): Readonly<Record<RequestKind, V>> =>
  Object.fromEntries(requestKinds.map((kind) => [kind, make(kind)])) as Record<RequestKind, V>;

function toldBy(teller: RequestCounters, before: Reading | undefined): Reading {
  const values = teller.requestValues;
  if (before?.values === values) return before;
  return { values, times: each((kind) => teller[kind].copy()) };
}

function sumOf(many: readonly RequestTimes[]): RequestTimes {
  const [first, ...rest] = many;
  if (first && rest.length === 0) return first;
  return each((kind) => {
    const sum = Uint32Array.from(first?.[kind] ?? []);
    for (const { [kind]: times } of rest)
      for (let bucket = 0; bucket < sum.length; bucket++)
        sum[bucket] = (sum[bucket] ?? 0) + (times[bucket] ?? 0);
    return sum;
  });
}

const less = (to: RequestTimes, from: RequestTimes): RequestTimes =>
  each((kind) => to[kind].map((count, i) => count - (from[kind][i] ?? 0)));

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
