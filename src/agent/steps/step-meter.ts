// An objective judged by steps must learn again when it is judged by bursts, so steps are believed
// until many bursts contradict. A client that queues its next step ahead has steps of segments,
// because its bursts do not end.
import type { RareBursts, UsualBurst } from "#policy";
import { bucketCount, bucketOf, type HighSlot, type View } from "#protocol";
import { coarseHistogram, type DurationHistogram } from "../histograms/durations.ts";
import { type BurstRecord, BurstRing } from "./burst-ring.ts";
import { divide, noStep, type OpenStep, type Step } from "./divide.ts";
import { kindsOf } from "./kinds.ts";
import { QueuedSteps } from "./queued-steps.ts";
import { BurstsByLaunches } from "./rare-bursts.ts";
import { recognise, type StepShape } from "./recognise.ts";
import { SegmentRing } from "./segment-ring.ts";

export interface StepMeasure {
  readonly stepsPerS: number;
  readonly burstsEach: number;
  readonly stepP50Us: number;
  readonly stepP99Us: number;
  readonly stepWaitP50Us: number;
  readonly stepWaitP99Us: number;
  readonly gapShare: number;
  readonly waitShare: number;
  readonly kinds: readonly {
    readonly stepsPerS: number;
    readonly stepP50Us: number;
    readonly stepP99Us: number;
  }[];
}

export interface StepHistograms {
  readonly durations: DurationHistogram;
  readonly waits: DurationHistogram;
}

const WINDOW_NS = 4e9;
const KEPT = 1000;
const LATEST = 200;
const USUALLY = 0.9;
// Steps are sought again after 60 new bursts (once a second at most), or after 10 s with fewer: a
// step may take a second.
const NEW = 60;
const EVERY_NS = 1e9;
const FEW_AFTER_NS = 10e9;
const MIN_STEPS_SEEN = 100;
const BELIEVED = 2; // an answer is believed after this many in a row
const DISBELIEVED = 5;

export class StepMeter {
  readonly #ring: BurstRing;
  readonly #segments: SegmentRing;
  readonly #ahead = new QueuedSteps();
  #queues = false;
  #ofSegments: readonly Step[] = [];
  #stepsSeen = 0;
  #recent: BurstRecord[] = [];
  #usual: UsualBurst | undefined;
  #byLaunches = new BurstsByLaunches();
  #new = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  #inARow = 0;
  #shape: StepShape | undefined;
  #believed = false;
  #open: OpenStep = noStep;
  #steps: Step[] = [];
  #since: readonly Step[] = [];
  #at = 0;
  #measured: StepMeasure | undefined;
  readonly #durations = new Uint32Array(bucketCount);
  readonly #waits = new Uint32Array(bucketCount);
  #histograms: StepHistograms | undefined;

  constructor(slot: View<typeof HighSlot>) {
    this.#ring = new BurstRing(slot);
    this.#segments = new SegmentRing(slot);
  }

  sample(now: number): void {
    const { bursts, gap } = this.#ring.read(now);
    const read = this.#segments.read(now);
    const steps = this.#ahead.add(read.segments, read.gap);
    this.#ofSegments = steps;
    this.#stepsSeen += steps.length;
    this.#followQueue();
    if (gap) [this.#recent, this.#open] = [[], noStep];
    this.#note(this.#queues ? steps : bursts);
    if (this.#queues) {
      this.#add(steps);
    } else {
      this.#new += bursts.length;
      const everyNs = this.#new >= NEW ? EVERY_NS : FEW_AFTER_NS;
      if (this.#new > 0 && now - this.#askedAt >= everyNs) this.#ask(now);
      this.#divide(bursts);
    }
    this.#at = now;
    this.#steps = this.#steps.filter(({ end }) => end > now - WINDOW_NS);
    this.#measured = undefined;
  }

  #followQueue(): void {
    if (this.#ahead.has === this.#queues) return;
    this.#queues = this.#ahead.has;
    [this.#recent, this.#open, this.#steps, this.#usual] = [[], noStep, [], undefined];
    this.#byLaunches = new BurstsByLaunches();
  }

  #note(latest: readonly BurstRecord[]): void {
    if (latest.length === 0) return;
    this.#recent = [...this.#recent, ...latest].slice(-KEPT);
    this.#usual = usualOf(this.#recent.slice(-LATEST));
    this.#byLaunches.add(latest);
  }

  get usualBurst(): UsualBurst | undefined {
    return this.#usual;
  }

  get rareBursts(): RareBursts | undefined {
    return this.#byLaunches.rare;
  }

  #ask(now: number): void {
    this.#new = 0;
    this.#askedAt = now;
    const shape = recognise(this.#recent);
    const changes = (shape !== undefined) !== this.#believed;
    this.#inARow = changes ? this.#inARow + 1 : 0;
    if (shape) this.#shape = shape;
    if (this.#inARow < (this.#believed ? DISBELIEVED : BELIEVED)) return;
    this.#believed = !this.#believed;
    this.#inARow = 0;
    [this.#open, this.#steps] = [noStep, []];
  }

  #divide(bursts: readonly BurstRecord[]): void {
    this.#since = [];
    if (!this.#believed || !this.#shape || bursts.length === 0) return;
    const { steps, open } = divide(bursts, this.#shape, this.#open);
    this.#open = open;
    this.#add(steps);
  }

  #add(steps: readonly Step[]): void {
    this.#since = steps;
    if (steps.length === 0) return;
    this.#steps.push(...steps);
    for (const { begin, end, waited } of steps) {
      count(this.#durations, end - begin);
      count(this.#waits, waited);
    }
    this.#histograms = undefined;
  }

  get has(): boolean {
    return this.#believed || this.#queues;
  }

  get seesSteps(): boolean {
    return this.#stepsSeen >= MIN_STEPS_SEEN;
  }

  get ofSegments(): readonly Step[] {
    return this.#ofSegments;
  }

  ended(): { readonly durations: Uint32Array; readonly waits: Uint32Array } | undefined {
    if (this.#since.length === 0) return undefined;
    const ended = { durations: new Uint32Array(bucketCount), waits: new Uint32Array(bucketCount) };
    for (const { begin, end, waited } of this.#since) {
      count(ended.durations, end - begin);
      count(ended.waits, waited);
    }
    return ended;
  }

  longest(): Step | undefined {
    return this.#since.toSorted((a, b) => b.end - b.begin - (a.end - a.begin))[0];
  }

  measure(): StepMeasure | undefined {
    if (!this.has || this.#steps.length === 0) return undefined;
    this.#measured ??= measureOf(this.#steps, Math.min(WINDOW_NS, this.#windowNs()) / 1e9);
    return this.#measured;
  }

  /** After steps were recognised, the window is shorter. */
  #windowNs(): number {
    return Math.max(1e9, this.#at - (this.#steps[0]?.begin ?? 0));
  }

  histograms(): StepHistograms | undefined {
    if (!this.has) return undefined;
    this.#histograms ??= {
      durations: coarseHistogram(this.#durations),
      waits: coarseHistogram(this.#waits),
    };
    return this.#histograms;
  }
}

function usualOf(bursts: readonly BurstRecord[]): UsualBurst | undefined {
  const latest = bursts
    .map(({ begin, end, launches }) => ({ ns: end - begin, launches }))
    .toSorted((a, b) => b.launches - a.launches);
  const total = sumOf(latest);
  let ns = 0;
  const least = latest.find((burst) => {
    ns += burst.ns;
    return ns >= USUALLY * total;
  });
  if (!least) return undefined;
  const usual = latest.filter(({ launches }) => launches >= least.launches);
  return { launches: least.launches, us: sumOf(usual) / usual.length / 1e3 };
}

const sumOf = (bursts: readonly { readonly ns: number }[]): number =>
  bursts.reduce((sum, { ns }) => sum + ns, 0);

function count(counts: Uint32Array, ns: number): void {
  const bucket = bucketOf(ns);
  counts[bucket] = (counts[bucket] ?? 0) + 1;
}

function measureOf(steps: readonly Step[], seconds: number): StepMeasure {
  const waits = sorted(steps.map(({ waited }) => waited));
  const sum = (of: (step: Step) => number) => steps.reduce((all, step) => all + of(step), 0);
  const lasted = Math.max(
    1,
    sum(({ begin, end }) => end - begin),
  );
  return {
    ...figuresOf(steps, seconds),
    burstsEach: sum(({ bursts }) => bursts) / steps.length,
    stepWaitP50Us: quantileUs(waits, 0.5),
    stepWaitP99Us: quantileUs(waits, 0.99),
    gapShare: 1 - sum(({ active }) => active) / lasted,
    waitShare: sum(({ waited }) => waited) / lasted,
    kinds: kindsOf(steps).map((kind) => figuresOf(kind, seconds)),
  };
}

function figuresOf(steps: readonly Step[], seconds: number) {
  const lengths = sorted(steps.map(({ begin, end }) => end - begin));
  return {
    stepsPerS: steps.length / seconds,
    stepP50Us: quantileUs(lengths, 0.5),
    stepP99Us: quantileUs(lengths, 0.99),
  };
}

const sorted = (values: readonly number[]) => Float64Array.from(values).sort();

const quantileUs = (values: Float64Array, q: number): number =>
  (values[Math.min(values.length, Math.max(1, Math.ceil(q * values.length))) - 1] ?? 0) / 1e3;
