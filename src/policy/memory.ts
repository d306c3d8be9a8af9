// What a policy that climbs a ladder (ladder.ts) remembers of a GPU from one look to the next, and of each high client on it: its
// bursts alone (the reference), the evidence for or against its objective at the level in force,
// and its usual load. Values: a look makes new ones.
import {
  ALLOWED,
  type Evidence,
  holds,
  holdsWithMargin,
  isBroken,
  noEvidence,
  withBursts,
} from "./evidence.ts";
import { differ, isQuiet, type Load, noLoad, withLoad } from "./load.ts";
import {
  anew,
  isTrial,
  judged,
  noPace,
  noProgress,
  type Pace,
  type Progress,
  paced,
  progressed,
} from "./policies/throughput.ts";
import type { Memory, MeteredHigh, Objective, ObjectiveState } from "./policy.ts";
import {
  type Bursts,
  burstsOf,
  type Limits,
  limitsOf,
  noBursts,
  quantilesOf,
  tallied,
  together,
} from "./yardstick.ts";

export interface LadderMemory extends Memory {
  readonly nowMs: number;
  /** The rules have just changed: bursts that end now began under the old ones. */
  readonly settling: boolean;
  /** When the evidence at hand began. */
  readonly sinceMs: number;
  /** When best-effort work last ran, or was kept from it. */
  readonly colocatedAtMs: number;
  /** The highest level that had room under this load: the way back to it is short. */
  readonly held: number;
  /** By level: not to be tried. */
  readonly bans: readonly (Ban | undefined)[];
  readonly clients: ReadonlyMap<string, ClientMemory>;
}

export interface Ban {
  readonly untilMs: number;
  readonly lengthMs: number;
}

export interface ClientMemory {
  readonly objective: Objective | undefined;
  readonly state: ObjectiveState;
  /** A `slowdown` of it is about its throughput, not about bursts. */
  readonly training: boolean;
  /** Bursts in all. */
  readonly bursts: number;
  readonly reference: Reference | undefined;
  /** The next reference, as far as it has come. */
  readonly growing: Alone;
  /** When best-effort work was last paused for it. */
  readonly pausedAtMs: number | undefined;
  readonly evidence: Evidence;
  /** The bursts that the evidence is about. */
  readonly seen: Bursts;
  /** Of a training: co-located, since the evidence began anew or was last judged. */
  readonly progress: Pace;
  readonly load: Load;
}

interface Alone extends Progress {
  readonly seen: Bursts;
  readonly bursts: number;
  /** Of a training. */
  readonly pace: Pace;
}

interface Reference extends Progress {
  readonly p99Us: number;
  /** Of the time that bursts waited for the GPU. */
  readonly waitedP99Us: number;
  readonly bursts: number;
  readonly pace: Pace;
}

/** How the bursts since the last look came about. */
export type Circumstance = "colocated" | "alone" | "settling";

/** The first bursts of a service are unlike all that follow. */
const WARM_UP = 50;
/** Of a training a few: each may be ten iterations. */
const WARM_UP_TRAINING = 3;
/** A reference from as many can tell its 1 %. */
const ENOUGH_ALONE = 200;
/** Fewer still make one when the time for it is over: the p99 is then the largest seen, and on the safe side. */
const FEW_ALONE = 20;
/** One that there is already is replaced by one from as many. */
const ENOUGH_ANEW = 1000;

const nothingAlone: Alone = { seen: noBursts, bursts: 0, ...noProgress, pace: noPace };

export const newClient = ({ objective, training = false }: MeteredHigh): ClientMemory => ({
  objective,
  state: "learning",
  training,
  bursts: 0,
  reference: undefined,
  growing: nothingAlone,
  pausedAtMs: undefined,
  evidence: noEvidence,
  seen: noBursts,
  progress: noPace,
  load: noLoad,
});

export function look(
  was: ClientMemory,
  client: MeteredHigh,
  how: Circumstance,
  seconds: number,
): ClientMemory {
  const { objective, launches = 0 } = client;
  if (isAboutThroughput({ ...was, objective }))
    return lookAtTraining(was, { ...client, launches }, how, seconds);
  const limits = limitsFor({ ...was, objective });
  const ended = burstsOf(client);
  const { bursts, above, waitedUs } = tallied(ended, limits);
  const load = withLoad(was.load, { bursts, waitedUs, seconds }, how === "colocated");
  const now = { ...was, objective, load, bursts: was.bursts + bursts };
  if (how === "alone") return isWarm(was) ? grown(now, ended, { bursts, launches, seconds }) : now;
  if (how === "settling" || bursts === 0 || !limits) return now;
  const evidence = withBursts(now.evidence, bursts, above);
  const seen = together(now.seen, ended);
  return { ...now, evidence, seen, state: isMet(now.state, evidence) ? "met" : now.state };
}

/** What a slowdown means for a training. */
export const isAboutThroughput = ({
  training,
  objective,
}: Pick<ClientMemory, "training" | "objective">): boolean =>
  training && objective?.slowdown !== undefined;

/** It has no load that could change: it launches, or it stands still. */
function lookAtTraining(
  was: ClientMemory,
  client: MeteredHigh & { readonly launches: number },
  how: Circumstance,
  seconds: number,
): ClientMemory {
  const { objective, launches } = client;
  const ended = burstsOf(client);
  const { bursts } = tallied(ended, undefined);
  const lastBurst = launches > 0 ? 0 : was.load.lastBurst + seconds;
  const load = { ...noLoad, lastBurst };
  const now = { ...was, objective, load, bursts: was.bursts + bursts };
  if (how === "alone") return isWarm(was) ? grown(now, ended, { bursts, launches, seconds }) : now;
  const { reference } = was;
  if (how === "settling" || !reference) return now;
  const progress = paced(was.progress, { launches, seconds }, lastBurst);
  if (!isTrial(progress)) return { ...now, progress };
  const evidence = judged(progress, reference.pace, objective?.slowdown ?? 0);
  const state = isMet(now.state, evidence) ? "met" : now.state;
  return { ...now, evidence, progress: anew(progress), state };
}

/** What is impossible alone must be shown to be met; luck with a few hundred bursts does not show it. */
const isMet = (before: ObjectiveState, evidence: Evidence): boolean =>
  before === "impossible" ? holdsWithMargin(evidence) : holds(evidence);

/** Of a client that does not train; undefined while its limits are not known. */
export const limitsFor = ({ objective, reference }: ClientMemory): Limits | undefined =>
  limitsOf(objective, reference);

export const isWarm = ({ bursts, training }: ClientMemory): boolean =>
  bursts >= (training ? WARM_UP_TRAINING : WARM_UP);

export const lacksReference = ({ objective, reference }: ClientMemory): boolean =>
  objective?.slowdown !== undefined && !reference;

/** Its evidence says that the objective is broken: the state that follows at this level. */
export function broken(was: ClientMemory, level: number): ClientMemory {
  if (!isBroken(was.evidence)) return was;
  return { ...was, state: level === 0 && notEvenAlone(was) ? "impossible" : "missed" };
}

/** The rules or the load are not what the evidence was about. */
export const withoutEvidence = (was: ClientMemory): ClientMemory => ({
  ...was,
  evidence: noEvidence,
  seen: noBursts,
  progress: anew(was.progress),
  load: { ...noLoad, lastBurst: was.load.lastBurst },
});

/** A pause for its reference begins. One from too few bursts goes on, another is made anew. */
export const startingAlone = (was: ClientMemory): ClientMemory => ({
  ...was,
  reference: undefined,
  growing: isShort(was) ? was.growing : nothingAlone,
});

/** The reference, if there is one, is from too few bursts, or of a training from too short a time. */
export const isShort = ({ reference, training }: ClientMemory): boolean =>
  !reference || (training ? !isTrial(reference.pace) : reference.bursts < ENOUGH_ALONE);

/** The load is not the one that the reference was seen under. */
export const isOutdated = ({ reference, load, training }: ClientMemory): boolean =>
  reference !== undefined && !training && differ(load.usual, reference);

/** The pause is over: what was seen in it has to do. */
export function endingAlone(was: ClientMemory, nowMs: number): ClientMemory {
  const now = { ...was, pausedAtMs: nowMs };
  const few = was.training ? was.growing.pace.looks.length > 0 : was.growing.bursts >= FEW_ALONE;
  return !was.reference && few ? referred(now) : now;
}

function grown(
  was: ClientMemory,
  ended: Bursts,
  { bursts, launches, seconds }: Progress & { readonly bursts: number },
): ClientMemory {
  const { growing, reference, training, load } = was;
  const now: ClientMemory = {
    ...was,
    growing: {
      seen: together(growing.seen, ended),
      bursts: growing.bursts + bursts,
      ...progressed(growing, launches, seconds),
      pace: training ? paced(growing.pace, { launches, seconds }, load.lastBurst) : noPace,
    },
  };
  const enough = training
    ? isTrial(now.growing.pace)
    : now.growing.bursts >= (reference ? ENOUGH_ANEW : ENOUGH_ALONE);
  return enough ? referred(now) : now;
}

/** What was seen alone becomes the reference; what was judged by another one is void. */
function referred(was: ClientMemory): ClientMemory {
  const { seen, bursts, launches, seconds, pace } = was.growing;
  // Of n bursts this one has, in the mean, 1 % of all above it.
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

const notEvenAlone = ({ objective, reference }: ClientMemory): boolean =>
  objective?.p99Us !== undefined && reference !== undefined && reference.p99Us > objective.p99Us;

/** Nothing to be learned from it for some time, so nobody waits for its evidence. */
export const saysNothing = ({ load }: ClientMemory): boolean => isQuiet(load);
