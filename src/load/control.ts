// The workload's end of a bench's control files: a job is kept alive and told by the file `phase` what to
// do until the next phase, and answers with NAME.ready and NAME.ID.json. Times are CLOCK_MONOTONIC in
// ns, the one clock that all processes of a machine share. A double holds them exactly for the
// first 104 days after boot, and to 2 ns after that, which is less than what it takes to read the clock.
import { parseArrivalFile } from "./arrivals/arrivals.ts";
import type { Served } from "./plan.ts";
import { type Clock, closedLoop, openLoop, type Server, type Stop } from "./serve.ts";

/** What one job is to do in a phase. */
export interface Part {
  /** A file of ns offsets from the phase's start; without it, a closed loop. */
  readonly arrivals?: string;
  /** Open loop: the interposer is told of each request so long before it arrives; 0: it is not. */
  readonly announce_us?: number;
}

export interface Phase {
  readonly id: number;
  /** Of the bench: a job leaves when it has gone. */
  readonly pid?: number;
  readonly start_ns: number;
  readonly seconds: number;
  /** Jobs that are not in it have nothing to do. */
  readonly jobs: Readonly<Record<string, Part>>;
  readonly quit: boolean;
}

/** The control directory. */
export interface ControlFiles {
  /** Another one whenever the phase was replaced; undefined before the first. Costs a stat(). */
  mark(): string | undefined;
  phase(): string;
  alive(pid: number): boolean;
  /** As a whole: a reader sees all of it or none. */
  write(file: string, text: string): void;
}

export interface PhaseContext {
  readonly name: string;
  readonly files: ControlFiles;
  /** CLOCK_MONOTONIC. */
  readonly clock: Clock;
  /** Ends the job as a phase that says quit does. */
  readonly stop: Stop;
  /** Closed loop: requests in flight. */
  readonly depth: number;
  readText(path: string): string;
  /** Finds what `announce_us` asks for; throws a UserError if there is no such thing. */
  announcer(): (microseconds: number) => void;
}

/** Between phases. */
const idleMs = 2;
/** An announcement lapses by itself: so long after the arrival, if the request has not reached the GPU. */
const graceUs = 500;
/** In a phase, requests come first. */
const lookEveryNs = 5e6;
const benchEveryNs = 1e9;

export const ready = (
  { name, files }: PhaseContext,
  facts: Readonly<Record<string, unknown>>,
): void => files.write(`${name}.ready`, JSON.stringify(facts));

/** Does this job's part of every phase it sees, until one says quit. */
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
        ? iterated(await closedLoop(server, clock, context.depth, Number.POSITIVE_INFINITY, over))
        : answered(await serve(server, phase, part.arrivals, context, over));
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
  // Sleeps are cut short, so that a phase that changes while no request comes is seen.
  const restless: Clock = {
    now: clock.now,
    sleep: (ms) => clock.sleep(Math.min(ms, lookEveryNs / 1e6)),
  };
  return openLoop(server, restless, arriving, over);
}

/** The phase now, read again only when it was replaced. */
function watch(files: ControlFiles, clock: Clock): () => Phase | undefined {
  let mark: string | undefined;
  let phase: Phase | undefined;
  let benchSeen = clock.now();
  return () => {
    const now = files.mark();
    if (now !== undefined && now !== mark) {
      // Written by the bench, which is of one version with this: both come from one package.
      phase = JSON.parse(files.phase()) as Phase;
      mark = now;
    }
    if (phase?.pid !== undefined && clock.now() - benchSeen >= benchEveryNs) {
      benchSeen = clock.now();
      if (!files.alive(phase.pid)) phase = { ...phase, id: -1, jobs: {}, quit: true };
    }
    return phase;
  };
}

/** Stops a loop when another phase has come. */
function onceChanged(
  look: () => Phase | undefined,
  phase: Phase,
  { clock, stop }: PhaseContext,
): Stop {
  let looked = clock.now();
  let over = false;
  return {
    get aborted() {
      const now = clock.now();
      if (!over && now - looked >= lookEveryNs) {
        looked = now;
        over = look()?.id !== phase.id;
      }
      return over || stop.aborted;
    },
  };
}

const answered = (served: readonly Served[]) => ({
  arrival_ns: served.map(({ arrival }) => arrival),
  latency_ns: served.map(({ arrival, done }) => done - arrival),
  service_ns: served.map(({ start, done }) => done - start),
});

const iterated = (served: readonly Served[]) => ({ done_ns: served.map(({ done }) => done) });
