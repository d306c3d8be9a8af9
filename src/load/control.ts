// The file `phase` says what to do until the next phase, and the job answers with NAME.ready and
// NAME.ID.json. Times are ns of CLOCK_MONOTONIC, which processes share: a double is exact for 104
// days after boot, and to 2 ns after that.
import { parseArrivalFile } from "./arrivals/arrivals.ts";
import type { Served } from "./plan.ts";
import { type Clock, closedLoop, openLoop, type Server, type Stop } from "./serve.ts";

export interface Part {
  readonly arrivals?: string; // ns offsets are in this file; without it, a closed loop runs
  readonly announce_us?: number; // 0: it is not announced
}

export interface Phase {
  readonly id: number;
  readonly pid?: number; // a job ends with the bench
  readonly pid_namespace?: number; // a job in another one can't check the pid
  readonly start_ns: number;
  readonly seconds: number;
  readonly jobs: Readonly<Record<string, Part>>; // a job without a task is idle
  readonly quit: boolean;
}

export interface ControlFiles {
  /** It stays the same until the phase is replaced; undefined before it. It costs a stat(). */
  mark(): string | undefined;
  phase(): string;
  alive(pid: number, namespace?: number): boolean;
  /** A reader sees all of the file or nothing. */
  write(file: string, text: string): void;
}

export interface PhaseContext {
  readonly name: string;
  readonly files: ControlFiles;
  readonly clock: Clock; // CLOCK_MONOTONIC
  readonly stop: Stop;
  readonly depth: number; // closed loop: requests in flight
  readText(path: string): string;
  announcer(): (microseconds: number) => void;
}

const idleMs = 2;
const graceUs = 500; // an announcement ends then without the request
const lookEveryNs = 5e6; // polls must not delay requests
const benchEveryNs = 1e9;

export const ready = (
  { name, files }: PhaseContext,
  facts: Readonly<Record<string, unknown>>,
): void => files.write(`${name}.ready`, JSON.stringify(facts));

export async function followPhases(server: Server, context: PhaseContext): Promise<void> {
  const { name, files, clock, stop } = context;
  const look = watch(files, clock);
  let seen: number | undefined;
  while (!stop.aborted) {
    const phase = look();
    if (phase === undefined || phase.id === seen) {
      await clock.sleep(idleMs);
      continue;
    }
    if (phase.quit) return;
    seen = phase.id;
    const part = phase.jobs[name];
    if (!part) continue;
    const over = onceChanged(look, phase, context);
    const answer =
      part.arrivals === undefined
        ? iterationTimes(
            await closedLoop(server, clock, context.depth, Number.POSITIVE_INFINITY, over),
          )
        : requestTimes(await serve(server, phase, part.arrivals, context, over));
    files.write(`${name}.${phase.id}.json`, JSON.stringify({ id: phase.id, ...answer }));
  }
}

function serve(server: Server, phase: Phase, path: string, context: PhaseContext, over: Stop) {
  const { clock } = context;
  const us = phase.jobs[context.name]?.announce_us ?? 0;
  const announce = us > 0 ? context.announcer() : undefined;
  const arriving = {
    begin: phase.start_ns,
    offsets: parseArrivalFile(context.readText(path), path),
    ...(announce && {
      ahead: {
        ns: us * 1000,
        announce: (leftNs: number) => announce(Math.floor(leftNs / 1000) + graceUs),
      },
    }),
  };
  // Sleeps are limited, so that a new phase is noticed while no request arrives.
  const restless: Clock = {
    now: clock.now,
    sleep: (ms) => clock.sleep(Math.min(ms, lookEveryNs / 1e6)),
  };
  return openLoop(server, restless, arriving, over);
}

function watch(files: ControlFiles, clock: Clock): () => Phase | undefined {
  let mark: string | undefined;
  let phase: Phase | undefined;
  let benchSeen = clock.now();
  return () => {
    const now = files.mark();
    if (now !== undefined && now !== mark) {
      // No version is checked: the bench that writes it comes from the same package.
      phase = JSON.parse(files.phase()) as Phase;
      mark = now;
    }
    if (phase?.pid !== undefined && clock.now() - benchSeen >= benchEveryNs) {
      benchSeen = clock.now();
      if (!files.alive(phase.pid, phase.pid_namespace))
        phase = { ...phase, id: -1, jobs: {}, quit: true };
    }
    return phase;
  };
}

function onceChanged(
  look: () => Phase | undefined,
  phase: Phase,
  { clock, stop }: PhaseContext,
): Stop {
  let lastLookNs = clock.now();
  let over = false;
  return {
    get aborted() {
      const now = clock.now();
      if (!over && now - lastLookNs >= lookEveryNs) {
        lastLookNs = now;
        over = look()?.id !== phase.id;
      }
      return over || stop.aborted;
    },
  };
}

const requestTimes = (served: readonly Served[]) => ({
  arrival_ns: served.map(({ arrival }) => arrival),
  latency_ns: served.map(({ arrival, done }) => done - arrival),
  service_ns: served.map(({ start, done }) => done - start),
  ...(served.every(({ streamed }) => streamed) && {
    first_ns: served.map(({ arrival, streamed }) => (streamed?.first ?? arrival) - arrival),
    tokens: served.map(({ streamed }) => streamed?.tokens),
  }),
});

const iterationTimes = (served: readonly Served[]) => ({ done_ns: served.map(({ done }) => done) });
