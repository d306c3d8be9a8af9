// What a slowdown means for a high client that trains: nobody waits for one of its bursts, and a burst may be ten
// iterations that are synchronised once. How fast it launches is how fast it gets on, for no more than a queue's
// length of launches is ahead of the GPU; so what it loses co-located is seen within seconds, not within hundreds
// of bursts.
import { type Evidence, noEvidence } from "../evidence.ts";

export interface Progress {
  readonly launches: number;
  readonly seconds: number;
}

/** How fast a training gets on, look by look. */
export interface Pace {
  readonly looks: readonly Progress[];
  /** What came since the last look that saw launches: where it stands still after those, it was not at work throughout. */
  readonly open: Progress | undefined;
}

export const noProgress: Progress = { launches: 0, seconds: 0 };
export const noPace: Pace = { looks: [], open: undefined };

export const progressed = (was: Progress, launches: number, seconds: number): Progress => ({
  launches: was.launches + launches,
  seconds: was.seconds + seconds,
});

/** Between the launches of an iteration that is one graph, or in a moment of its own, it is at work; after more than this it stands still. */
const STILL_S = 2;

/**
 * A look more, after `idle` seconds without launches. The looks in which it began and ended launching are left out: they would
 * make it slower than it is, and a stop of the program's own a fault of its neighbours. What was before a stop does not go on after
 * it: the queue is another.
 */
export function paced(was: Pace, { launches, seconds }: Progress, idle: number): Pace {
  const { looks, open } = was;
  if (launches > 0 && !open) return { looks, open: noProgress };
  if (launches > 0)
    return {
      looks: open && open.seconds > 0 ? [...looks, open] : looks,
      open: { launches, seconds },
    };
  if (!open || idle > STILL_S) return noPace;
  return { looks, open: progressed(open, 0, seconds) };
}

/** From nothing, of one that is at work as it was. */
export const anew = ({ open }: Pace): Pace => ({ looks: [], open: open && noProgress });

const TRIAL_S = 5;

/** Enough to compare with, or to judge. */
export const isTrial = ({ looks }: Pace): boolean =>
  looks.reduce((sum, { seconds }) => sum + seconds, 0) >= TRIAL_S;

/**
 * Launches a second, by least squares: the queue of 1,020 launches ahead of the GPU is fuller at one look than at another, and
 * from the first to the last that alone would be a percent.
 */
function perS({ looks }: Pace): number {
  const points = [noProgress]; // what is launched until when
  for (const { launches, seconds } of looks)
    points.push(progressed(points.at(-1) ?? noProgress, launches, seconds));
  const mean = (of: (point: Progress) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const at = mean(({ seconds }) => seconds);
  const off = (seconds: number) => seconds - at;
  return (
    mean(({ launches, seconds }) => launches * off(seconds)) /
    mean(({ seconds }) => off(seconds) ** 2)
  );
}

/** Only slower by this much more is broken: between, a level is neither left nor climbed from. */
const DOUBTFUL = 0.02;

/** Evidence is about bursts. Of a training it is made to say that all held, that none did, or nothing. */
const ALL = 300;
const held: Evidence = { ...noEvidence, bursts: ALL };
const none: Evidence = {
  bursts: ALL,
  above: ALL,
  against: noEvidence.against.map(() => ALL),
  recentlyAbove: ALL,
};

/** `alone`: alone; `slowdown`: the part by which everything may take longer. */
export function judged(now: Pace, alone: Pace, slowdown: number): Evidence {
  const took = perS(alone) / perS(now);
  if (took <= 1 + slowdown) return held;
  return took > 1 + slowdown + DOUBTFUL ? none : noEvidence;
}
