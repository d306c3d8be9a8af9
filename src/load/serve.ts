// When requests are started: at their arrival (open loop), or as soon as another is done (closed loop).
// The driver's calls block this thread, as they do in a server of one thread: an open loop has one request
// in service at a time, and the others queue.
import type { Served } from "./plan.ts";

export interface Clock {
  /** Monotonic, in ns since the run's origin. */
  now(): number;
  /** Lets the event loop turn; comes back early when the run is cut short. */
  sleep(ms: number): Promise<void>;
}

/** What serves request number i. `wait` is called once for each `submit`, in the same order. */
export interface Server {
  submit(request: number): void;
  wait(request: number): void;
}

export interface Stop {
  readonly aborted: boolean;
}

/** A timer may be late by a millisecond and more: sleep until this long before an arrival, then spin. */
const spinNs = 1.5e6;
/** Signals are heard only when the event loop turns. */
const hearEveryNs = 50e6;

export async function openLoop(
  server: Server,
  clock: Clock,
  arrivals: readonly number[],
  stop: Stop,
): Promise<Served[]> {
  const served: Served[] = [];
  const begin = clock.now();
  let heard = begin;
  for (const [request, offset] of arrivals.entries()) {
    const arrival = begin + offset;
    while (!stop.aborted && arrival - clock.now() > spinNs) {
      await clock.sleep((arrival - clock.now() - spinNs) / 1e6);
      heard = clock.now();
    }
    if (clock.now() - heard > hearEveryNs) {
      await clock.sleep(0);
      heard = clock.now();
    }
    if (stop.aborted) break;
    while (clock.now() < arrival);
    const start = clock.now();
    server.submit(request);
    server.wait(request);
    served.push({ arrival, start, done: clock.now() });
  }
  return served;
}

/** Keeps `depth` requests in flight for `seconds`, then finishes those. */
export async function closedLoop(
  server: Server,
  clock: Clock,
  depth: number,
  seconds: number,
  stop: Stop,
): Promise<Served[]> {
  const served: Served[] = [];
  const starts: number[] = [];
  const end = clock.now() + seconds * 1e9;
  let heard = clock.now();
  const finish = () => {
    const request = served.length;
    const start = starts[request] ?? 0;
    server.wait(request);
    served.push({ arrival: start, start, done: clock.now() });
  };
  while (!stop.aborted && clock.now() < end) {
    if (starts.length - served.length === depth) finish();
    const request = starts.push(clock.now()) - 1;
    server.submit(request);
    if (clock.now() - heard > hearEveryNs) {
      await clock.sleep(0);
      heard = clock.now();
    }
  }
  while (served.length < starts.length) finish();
  return served;
}
