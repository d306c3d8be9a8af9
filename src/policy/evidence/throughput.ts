// A burst of a training may be ten iterations. The queue limits its launches ahead of the GPU, so
// their rate is its speed, and a loss shows within seconds.
import { type Evidence, noEvidence } from "./evidence.ts";

export interface Progress {
  readonly launches: number;
  readonly seconds: number;
}

export interface Pace {
  readonly looks: readonly Progress[];
  readonly open: Progress | undefined;
}

export const noProgress: Progress = { launches: 0, seconds: 0 };
export const noPace: Pace = { looks: [], open: undefined };

export const addProgress = (was: Progress, launches: number, seconds: number): Progress => ({
  launches: was.launches + launches,
  seconds: was.seconds + seconds,
});

const STILL_S = 2; // an iteration may be one graph

/** Samples at a start or stop would blame others for the program's own stop. */
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

export const restartPace = ({ open }: Pace): Pace => ({ looks: [], open: open && noProgress });

const TRIAL_S = 5;

export const isTrial = ({ looks }: Pace): boolean =>
  looks.reduce((sum, { seconds }) => sum + seconds, 0) >= TRIAL_S;

// Least squares are used, because the first and the last sample alone would be wrong by a percent:
// the queue of 1,020 launches is fuller at one sample than at another.
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

const DOUBTFUL = 0.02;
const ALL = 300;
const held: Evidence = { ...noEvidence, bursts: ALL };
const none: Evidence = {
  bursts: ALL,
  above: ALL,
  against: noEvidence.against.map(() => ALL),
  recentlyAbove: ALL,
};

export function judge(now: Pace, alone: Pace, slowdown: number): Evidence {
  const took = perS(alone) / perS(now);
  if (took <= 1 + slowdown) return held;
  return took > 1 + slowdown + DOUBTFUL ? none : noEvidence;
}
