// vLLM with asynchronous scheduling queues a step before it reads the last one's results. Its
// bursts do not end, so steps are made of segments: the one with the main work ends a step.
import type { Step } from "./divide.ts";
import type { Segment } from "./segment-ring.ts";

const MAX_MAINS = 100;
const MIN_MAINS = 13;
const QUEUED_PART = 0.5;
/** A nearly idle program has nothing to queue, and is taken to queue ahead down to this part. */
const STAYS_PART = 0.1;

export class QueuedSteps {
  #segments: readonly Segment[] = [];
  #last: Segment | undefined;
  #queued: readonly boolean[] = [];
  #believed = false;

  add(segments: readonly Segment[], gap: boolean): readonly Step[] {
    if (gap) [this.#segments, this.#last] = [[], undefined];
    const steps: Step[] = [];
    const queued: boolean[] = [];
    for (const segment of segments) {
      if (this.#last?.main) queued.push(segment.begin === this.#last.end);
      this.#last = segment;
      this.#segments = [...this.#segments, segment];
      if (!segment.main) continue;
      steps.push(stepOf(this.#segments));
      this.#segments = [];
    }
    this.#queued = [...this.#queued, ...queued].slice(-MAX_MAINS);
    const part = this.#queued.filter(Boolean).length / Math.max(MIN_MAINS, this.#queued.length);
    this.#believed = part >= (this.#believed ? STAYS_PART : QUEUED_PART);
    return steps;
  }

  get has(): boolean {
    return this.#believed;
  }
}

function stepOf(segments: readonly Segment[]): Step {
  const sum = (of: (segment: Segment) => number) =>
    segments.reduce((all, segment) => all + of(segment), 0);
  return {
    begin: segments[0]?.begin ?? 0,
    end: segments.at(-1)?.end ?? 0,
    active: sum(({ begin, end }) => end - begin),
    waited: sum(({ waited }) => waited),
    bursts: segments.length,
    launches: sum(({ submissions }) => submissions),
  };
}
