// Starts requests at their arrival (open loop), or as soon as another is done (closed loop). The driver's calls block
// this thread, as in a server with one thread. So an open loop serves one request at a time, and the others queue.
import type { Served, Streamed } from "./plan.ts";

export interface Clock {
  /** Monotonic, in ns since the run's origin. */
  now(): number;
  /** Waits while the event loop runs. Returns early if the run is stopped. */
  sleep(ms: number): Promise<void>;
}

/** Serves request number i. `wait` is called once for each `submit`, in the same order. */
export interface Server {
  submit(request: number): void;
  wait(request: number): void;
  /** The answer to the last request, if answers come token by token. */
  streamed?(): Streamed;
}

export interface Stop {
  readonly aborted: boolean;
}

/** A timer may be late by a millisecond or more. So the loop sleeps until this long before an arrival, then spins. */
const spinNs = 1.5e6;
/** Signals are handled only when the event loop runs. */
const hearEveryNs = 50e6;

export interface Arriving {
  /** The start, by the clock. Requests that should have arrived before now are late. */
  readonly begin: number;
  /** ns from the start, sorted. */
  readonly offsets: readonly number[];
  /** Each request is announced so long before its arrival, or as soon as the one before is done. */
  readonly ahead?: { readonly ns: number; announce(leftNs: number): void };
}

export async function openLoop(
  server: Server,
  clock: Clock,
  { begin, offsets, ahead }: Arriving,
  stop: Stop,
): Promise<Served[]> {
  const served: Served[] = [];
  let heard = clock.now();
  /** Returns shortly before the time. False if the run was stopped. */
  const approach = async (instant: number): Promise<boolean> => {
    while (!stop.aborted && instant - clock.now() > spinNs) {
      await clock.sleep((instant - clock.now() - spinNs) / 1e6);
      heard = clock.now();
    }
    if (clock.now() - heard > hearEveryNs) {
      await clock.sleep(0);
      heard = clock.now();
    }
    return !stop.aborted;
  };
  const spinUntil = (instant: number) => {
    while (clock.now() < instant);
  };
  for (const [request, offset] of offsets.entries()) {
    const arrival = begin + offset;
    if (ahead) {
      if (!(await approach(arrival - ahead.ns))) break;
      spinUntil(arrival - ahead.ns);
      ahead.announce(Math.max(0, arrival - clock.now()));
    }
    if (!(await approach(arrival))) break;
    spinUntil(arrival);
    const start = clock.now();
    server.submit(request);
    server.wait(request);
    served.push({ arrival, start, done: clock.now(), streamed: server.streamed?.() });
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
    if (starts.length - served.length === depth) {
      finish();
      if (stop.aborted) break;
    }
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
