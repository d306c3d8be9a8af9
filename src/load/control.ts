// A job's side of a bench's control files. The bench keeps the job alive. The file `phase` says what to do until the
// next phase, and the job answers with NAME.ready and NAME.ID.json. Times are ns of CLOCK_MONOTONIC, which all
// processes of a machine share. A double holds them exactly for the first 104 days after boot, and to 2 ns after
// that. Reading the clock takes longer.
import { parseArrivalFile } from "./arrivals/arrivals.ts";
import type { Served } from "./plan.ts";
import { type Clock, closedLoop, openLoop, type Server, type Stop } from "./serve.ts";

/** The task of one job in a phase. */
export interface Part {
  /** A file of ns offsets from the phase's start; without it, a closed loop. */
  readonly arrivals?: string;
  /** Open loop: how long before its arrival the interposer is told of each request; 0: it is not told. */
  readonly announce_us?: number;
}

export interface Phase {
  readonly id: number;
  /** The pid of the bench. A job ends when the bench has ended. */
  readonly pid?: number;
  /** The PID namespace of that pid. A job in another namespace cannot check it, and is ended in another way. */
  readonly pid_namespace?: number;
  readonly start_ns: number;
  readonly seconds: number;
  /** The tasks by job. A job without a task does nothing in this phase. */
  readonly jobs: Readonly<Record<string, Part>>;
  readonly quit: boolean;
}

/** The control directory. */
export interface ControlFiles {
  /** The same value until the phase is replaced; undefined before the first phase. Costs a stat(). */
  mark(): string | undefined;
  phase(): string;
  /** Returns true also for a process in another PID namespace. */
  alive(pid: number, namespace?: number): boolean;
  /** Writes the file atomically: a reader sees all of it or nothing. */
  write(file: string, text: string): void;
}

export interface PhaseContext {
  readonly name: string;
  readonly files: ControlFiles;
  /** CLOCK_MONOTONIC. */
  readonly clock: Clock;
  /** Ends the job, as a phase with `quit` does. */
  readonly stop: Stop;
  /** Closed loop: requests in flight. */
  readonly depth: number;
  readText(path: string): string;
  /** Finds the function that `announce_us` needs. Throws a UserError if there is none. */
  announcer(): (microseconds: number) => void;
}

/** Time between two looks at the phase while the job has no task. */
const idleMs = 2;
/** An announcement ends by itself this long after the arrival if the request has not reached the GPU. */
const graceUs = 500;
/** Time between two samples during a phase. It is longer, so that looks do not delay requests. */
const lookEveryNs = 5e6;
const benchEveryNs = 1e9;

export const ready = (
  { name, files }: PhaseContext,
  facts: Readonly<Record<string, unknown>>,
): void => files.write(`${name}.ready`, JSON.stringify(facts));

/** Does this job's task in every phase, until a phase says `quit`. */
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

/** The current phase. The file is read again only after it was replaced. */
function watch(files: ControlFiles, clock: Clock): () => Phase | undefined {
  let mark: string | undefined;
  let phase: Phase | undefined;
  let benchSeen = clock.now();
  return () => {
    const now = files.mark();
    if (now !== undefined && now !== mark) {
      // No version check: the bench that writes it comes from the same package.
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

/** Stops a loop when the phase has changed. */
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
