// What a slowdown means for a high client that trains: nobody waits for one of its bursts, and a burst may be ten
// iterations that are synchronised once. How fast it launches is how fast it gets on, for no more than a queue's
// length of launches is ahead of the GPU; so what it loses in company is seen within seconds, not within hundreds
// of bursts.
import { type Evidence, noEvidence } from "./evidence.ts";

export interface Progress {
  readonly launches: number;
  readonly seconds: number;
}

export const noProgress: Progress = { launches: 0, seconds: 0 };

/** A queue of 1,020 launches ahead of the GPU is a few percent of what is launched meanwhile. */
const TRIAL_S = 5;

export const progressed = (was: Progress, launches: number, seconds: number): Progress => ({
  launches: was.launches + launches,
  seconds: was.seconds + seconds,
});

/** Enough to compare with, or to judge. */
export const isTrial = ({ seconds }: Progress): boolean => seconds >= TRIAL_S;

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

/** `alone`: without company; `slowdown`: the part by which everything may take longer. */
export function judged(now: Progress, alone: Progress, slowdown: number): Evidence {
  const took = alone.launches / alone.seconds / (now.launches / now.seconds);
  if (took <= 1 + slowdown) return held;
  return took > 1 + slowdown + DOUBTFUL ? none : noEvidence;
}
