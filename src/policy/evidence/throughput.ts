// Slowdown of a high client that trains. Its bursts may be ten iterations long, and nobody waits for one. Its rate of
// launches is its speed, because the queue limits the launches ahead of the GPU. So a loss shows within seconds, not
// after hundreds of bursts.
import { type Evidence, noEvidence } from "./evidence.ts";

export interface Progress {
  readonly launches: number;
  readonly seconds: number;
}

/** The speed of a training, look by look. */
export interface Pace {
  readonly looks: readonly Progress[];
  /** Since the last sample that saw launches. It is dropped if the training stands still afterwards. */
  readonly open: Progress | undefined;
}

export const noProgress: Progress = { launches: 0, seconds: 0 };
export const noPace: Pace = { looks: [], open: undefined };

export const addProgress = (was: Progress, launches: number, seconds: number): Progress => ({
  launches: was.launches + launches,
  seconds: was.seconds + seconds,
});

/** A training without launches for longer than this stands still. An iteration may be one graph, so a pause says little. */
const STILL_S = 2;

/**
 * Adds a sample, after `idle` seconds without launches. The looks in which it began and stopped launching are left out,
 * because they would blame the neighbours for a stop of the program's own. Looks before a stop are dropped, because the
 * queue was emptied.
 */
export function addLook(was: Pace, { launches, seconds }: Progress, idle: number): Pace {
  const { looks, open } = was;
  if (launches > 0 && !open) return { looks, open: noProgress };
  if (launches > 0)
    return {
      looks: open && open.seconds > 0 ? [...looks, open] : looks,
      open: { launches, seconds },
    };
  if (!open || idle > STILL_S) return noPace;
  return { looks, open: addProgress(open, 0, seconds) };
}

/** Without looks, of a training that is at work if it was. */
export const restartPace = ({ open }: Pace): Pace => ({ looks: [], open: open && noProgress });

const TRIAL_S = 5;

/** Long enough to be compared or judged. */
export const isTrial = ({ looks }: Pace): boolean =>
  looks.reduce((sum, { seconds }) => sum + seconds, 0) >= TRIAL_S;

/**
 * Launches a second, by least squares. The first and the last sample alone would be wrong by a percent, because the queue of
 * 1,020 launches ahead of the GPU is fuller at one sample than at another.
 */
function perS({ looks }: Pace): number {
  const points = [noProgress]; // launches until each time
  for (const { launches, seconds } of looks)
    points.push(addProgress(points.at(-1) ?? noProgress, launches, seconds));
  const mean = (of: (point: Progress) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const at = mean(({ seconds }) => seconds);
  const off = (seconds: number) => seconds - at;
  return (
    mean(({ launches, seconds }) => launches * off(seconds)) /
    mean(({ seconds }) => off(seconds) ** 2)
  );
}

/** A training slower by up to this much more than allowed decides nothing: the level is neither left nor climbed from. */
const DOUBTFUL = 0.02;

/** Evidence counts bursts. For a training it says that all held, that none did, or nothing. */
const ALL = 300;
const held: Evidence = { ...noEvidence, bursts: ALL };
const none: Evidence = {
  bursts: ALL,
  above: ALL,
  against: noEvidence.against.map(() => ALL),
  recentlyAbove: ALL,
};

/** `alone`: the pace without best-effort work. `slowdown`: the part by which everything may take longer. */
export function judge(now: Pace, alone: Pace, slowdown: number): Evidence {
  const took = perS(alone) / perS(now);
  if (took <= 1 + slowdown) return held;
  return took > 1 + slowdown + DOUBTFUL ? none : noEvidence;
}
