// The reference of a high client: its bursts alone, to which an objective compares those beside best-effort work. They are collected
// while no best-effort work runs, if need be in a pause of it.

import { ALLOWED, holds, noEvidence } from "../evidence/evidence.ts";
import { addLook, addProgress, isTrial, noPace, type Progress } from "../evidence/throughput.ts";
import { type ClientMemory, nothingAlone } from "./client.ts";
import { burstsThatTell } from "./enough.ts";
import { differ } from "./load.ts";
import { type Bursts, noBursts, quantilesOf, sumOf, usualUs } from "./yardstick.ts";

/** Number of bursts from which a p99 is estimated. */
const MIN_SOLO = 200;
/** So few bursts still make a reference when the pause is over. Its p99 is then the largest burst, which is at most too
 * small. */
const MIN_SOLO_AFTER_PAUSE = 20;
/** A reference is replaced by one from so many bursts. */
const MIN_SOLO_AGAIN = 1000;

/** A pause for its reference begins. A reference from too few bursts is completed, any other is made again. */
export const startPause = (was: ClientMemory): ClientMemory => ({
  ...was,
  reference: undefined,
  growing: isShort(was) ? was.growing : nothingAlone,
});

/** There is no reference, or it is from too few bursts, or, if the client trains, from too short a time. */
export const isShort = ({ reference, training }: ClientMemory): boolean =>
  !reference || (training ? !isTrial(reference.pace) : reference.bursts < MIN_SOLO);

/** The load has changed since the reference was made. */
export const isOutdated = ({ reference, load, training }: ClientMemory): boolean =>
  reference !== undefined && !training && differ(load.usual, reference, load.dispersion);

/** The pause is over: a reference is made of the bursts that ended in it. */
export function endPause(was: ClientMemory, nowMs: number): ClientMemory {
  const now = { ...was, pausedAtMs: nowMs };
  const few = was.training
    ? was.growing.pace.looks.length > 0
    : was.growing.bursts >= MIN_SOLO_AFTER_PAUSE;
  return !was.reference && few ? makeReference(now) : now;
}

export function growReference(
  was: ClientMemory,
  ended: Bursts,
  { bursts, launches, seconds }: Progress & { readonly bursts: number },
): ClientMemory {
  const { reference, training, load, objective } = was;
  const growing =
    objective === undefined && was.growing.bursts >= MIN_SOLO_AGAIN ? nothingAlone : was.growing;
  const now: ClientMemory = {
    ...was,
    growing: {
      seen: sumOf(growing.seen, ended),
      bursts: growing.bursts + bursts,
      ...addProgress(growing, launches, seconds),
      pace: training ? addLook(growing.pace, { launches, seconds }, load.lastBurst) : noPace,
    },
  };
  const enough = training
    ? isTrial(now.growing.pace)
    : now.growing.bursts >= (reference ? MIN_SOLO_AGAIN : enoughAlone(now));
  return enough && objective !== undefined ? makeReference(now) : now;
}

/** An objective that somebody states is about the p99, which few bursts do not tell, however long they are. */
const enoughAlone = ({ gaps, growing }: ClientMemory): number =>
  gaps ? burstsThatTell(MIN_SOLO, usualUs(growing.seen)) : MIN_SOLO;

/** Makes the bursts alone the reference. Evidence that was judged by the former reference is void. */
function makeReference(was: ClientMemory): ClientMemory {
  const { seen, bursts, launches, seconds, pace } = was.growing;
  // The quantile of n bursts above which, on average, 1 % of all bursts lie.
  const q = Math.min(1, ((1 - ALLOWED) * (bursts + 1)) / bursts);
  const reference = { ...quantilesOf(seen, q), bursts, launches, seconds, pace };
  const growing = isShort({ ...was, reference }) ? was.growing : nothingAlone;
  const now = { ...was, reference, growing };
  if (notEvenAlone(now) && !holds(now.evidence)) return { ...now, state: "impossible" };
  if (was.state === "impossible") return { ...now, state: "learning" };
  return was.objective?.slowdown === undefined
    ? now
    : { ...now, evidence: noEvidence, seen: noBursts };
}

/** Its objective is stricter than what it has alone. */
export const notEvenAlone = ({ objective, reference }: ClientMemory): boolean =>
  objective?.p99Us !== undefined && reference !== undefined && reference.p99Us > objective.p99Us;
