import { ALLOWED, holds, noEvidence } from "../evidence/evidence.ts";
import { addLook, addProgress, isTrial, noPace, type Progress } from "../evidence/throughput.ts";
import { type ClientMemory, nothingAlone } from "./client.ts";
import { burstsThatTell } from "./enough.ts";
import { differ } from "./load.ts";
import { type Bursts, noBursts, quantilesOf, sumOf, usualUs } from "./yardstick.ts";

const MIN_SOLO = 200; // a p99 needs as many
const MIN_SOLO_AFTER_PAUSE = 20; // the p99 is then the largest burst, at most too small
const MIN_SOLO_AGAIN = 1000; // a new reference needs as many

/** A reference from too few bursts is completed, any other is made again. */
export const startPause = (was: ClientMemory): ClientMemory => ({
  ...was,
  reference: undefined,
  growing: isShort(was) ? was.growing : nothingAlone,
});

export const isShort = ({ reference, training }: ClientMemory): boolean =>
  !reference || (training ? !isTrial(reference.pace) : reference.bursts < MIN_SOLO);

export const isOutdated = ({ reference, load, training }: ClientMemory): boolean =>
  reference !== undefined && !training && differ(load.usual, reference, load.dispersion);

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

/** Few bursts do not show a p99, however long they are. */
const enoughAlone = ({ gaps, growing }: ClientMemory): number =>
  gaps ? burstsThatTell(MIN_SOLO, usualUs(growing.seen)) : MIN_SOLO;

function makeReference(was: ClientMemory): ClientMemory {
  const { seen, bursts, launches, seconds, pace } = was.growing;
  // On average, 1 % of all bursts lie above this quantile of n bursts.
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

export const notEvenAlone = ({ objective, reference }: ClientMemory): boolean =>
  objective?.p99Us !== undefined && reference !== undefined && reference.p99Us > objective.p99Us;
