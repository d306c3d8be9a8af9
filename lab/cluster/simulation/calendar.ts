// The events to come: a queue of (time, priority, sequence, event). Events at one instant run by priority, then in the
// order in which they were added, so a run is a pure function of its inputs.
import TinyQueue from "tinyqueue";

interface Entry<E> {
  readonly time: number;
  readonly priority: number;
  readonly sequence: number;
  readonly event: E;
}

export interface Calendar<E> {
  /** The smaller priority goes first. Throws a RangeError if the time is past or not a number. */
  add(time: number, priority: number, event: E): void;
  /** Takes the next event and moves `now` to its time; undefined if there is none. */
  take(): E | undefined;
  /** In seconds. */
  readonly now: number;
}

export function calendar<E>(): Calendar<E> {
  const queue = new TinyQueue<Entry<E>>([], inOrder);
  let now = 0;
  let sequence = 0;
  return {
    get now() {
      return now;
    },
    add(time, priority, event) {
      if (!(time >= now)) throw new RangeError(`an event at ${time} s, when it is ${now} s`);
      queue.push({ time, priority, sequence: sequence++, event });
    },
    take() {
      const next = queue.pop();
      if (next) now = next.time;
      return next?.event;
    },
  };
}

/** Never 0, because no two events have the same sequence number. */
function inOrder<E>(a: Entry<E>, b: Entry<E>): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  return a.priority - b.priority || a.sequence - b.sequence;
}
