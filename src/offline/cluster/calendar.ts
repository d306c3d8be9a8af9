// The kernel: what happens next. A binary heap of (time, priority, sequence, event); two events at one instant
// run by priority, then in the order they were added, so that a run is a pure function of its inputs.

interface Entry<E> {
  readonly time: number;
  readonly priority: number;
  readonly sequence: number;
  readonly event: E;
}

export interface Calendar<E> {
  /** A smaller priority goes first. Throws a RangeError for a time that is past or no number. */
  add(time: number, priority: number, event: E): void;
  /** Takes the next event and moves `now` to its time; undefined when there is none. */
  take(): E | undefined;
  /** Seconds. */
  readonly now: number;
}

export function calendar<E>(): Calendar<E> {
  const heap: Entry<E>[] = [];
  let now = 0;
  let sequence = 0;
  const before = (a: Entry<E>, b: Entry<E>): boolean =>
    a.time - b.time < 0 ||
    (a.time === b.time && (a.priority - b.priority || a.sequence - b.sequence) < 0);
  return {
    get now() {
      return now;
    },
    add(time, priority, event) {
      if (!(time >= now)) throw new RangeError(`an event at ${time} s, when it is ${now} s`);
      const entry = { time, priority, sequence: sequence++, event };
      let at = heap.push(entry) - 1;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        const above = heap[parent];
        if (!above || before(above, entry)) break;
        heap[at] = above;
        at = parent;
      }
      heap[at] = entry;
    },
    take() {
      const [top] = heap;
      const last = heap.pop();
      if (!top || !last) return undefined;
      now = top.time;
      if (heap.length > 0) sink(heap, last, before);
      return top.event;
    },
  };
}

/** Puts `entry` where the root was, and then below whatever comes before it. */
function sink<T>(heap: T[], entry: T, before: (a: T, b: T) => boolean): void {
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    let below = heap[child];
    if (below === undefined) break;
    const right = heap[child + 1];
    if (right !== undefined && before(right, below)) {
      below = right;
      child++;
    }
    if (before(entry, below)) break;
    heap[at] = below;
    at = child;
  }
  heap[at] = entry;
}
