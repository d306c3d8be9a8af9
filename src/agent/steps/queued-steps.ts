// Steps of a program that queues its next step before it looks at the results of the last one, as vLLM does with
// asynchronous scheduling. Its bursts do not end, so steps are made of segments: one ends with a segment that has the
// main work, and smaller segments belong to the next main one.
import type { Step } from "./divide.ts";
import type { Segment } from "./segment-ring.ts";

/** Main segments by which it is known whether the program queues ahead. */
const MAX_MAINS = 100;
const MIN_MAINS = 13;
/** The part of them behind which work was outstanding. */
const QUEUED_PART = 0.5;
/** A program that was seen to queue ahead is taken to do so down to this part: when it is nearly idle, it has nothing to queue. */
const STAYS_PART = 0.1;

export class QueuedSteps {
  #segments: readonly Segment[] = [];
  #last: Segment | undefined;
  /** For each of the latest main segments: whether the next segment begins where it ended. */
  #queued: readonly boolean[] = [];
  #believed = false;

  /** The steps that ended with these segments. `gap`: segments before them are missing. */
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

  /** The program queues its next step ahead. */
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
