// The driver's calls block this thread, as in a server with one thread. So an open loop serves one
// request at a time, and the others queue.
import type { Served, Streamed } from "./plan.ts";

export interface Clock {
  now(): number; // monotonic, in ns since the run's origin
  /** Returns early if the run is stopped. */
  sleep(ms: number): Promise<void>;
}

/** `wait` is called once for each `submit`, in the same order. */
export interface Server {
  submit(request: number): void;
  wait(request: number): void;
  streamed?(): Streamed;
}

export interface Stop {
  readonly aborted: boolean;
}

const spinNs = 1.5e6; // a timer may be late by a millisecond or more, so the loop spins then
const hearEveryNs = 50e6; // signals are handled only when the event loop runs

export interface Arriving {
  readonly begin: number; // earlier requests are late
  readonly offsets: readonly number[]; // ns from the start, sorted
  /** Announcements are not earlier than the end of the request before. */
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
