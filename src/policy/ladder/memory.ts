// What a policy that climbs a ladder (ladder.ts) remembers of a GPU from one look to the next, and of each high client
// on it: its bursts alone (the reference), the evidence for or against its objective at the level in force, and its
// usual load. A memory is never changed: each look makes a new one.

import {
  addLook,
  addProgress,
  isTrial,
  judge,
  noPace,
  noProgress,
  type Pace,
  type Progress,
  restartPace,
} from "../policies/throughput.ts";
import type { Memory, MeteredHigh, Objective, ObjectiveState } from "../policy.ts";
import { type EngineMemory, noEngine, withRequestsOf } from "./engine.ts";
import {
  ALLOWED,
  type Evidence,
  holds,
  holdsWithMargin,
  isBroken,
  noEvidence,
  withBursts,
} from "./evidence.ts";
import { isByDefault, noWaits, type Waits, withWaits } from "./gaps.ts";
import { differ, isQuiet, type Load, noLoad, withLoad } from "./load.ts";
import {
  nothingOfRequests,
  type RequestKind,
  type RequestsMemory,
  requestsBroken,
  requestsHold,
  tightestKind,
  withRequests,
} from "./requests.ts";
import { besideUntilUs } from "./shares.ts";
import {
  type Bursts,
  burstsOf,
  type Limits,
  limitsOf,
  medianWaitUs,
  noBursts,
  quantilesOf,
  sumOf,
  tally,
} from "./yardstick.ts";

export interface LadderMemory extends Memory {
  readonly nowMs: number;
  /** Beside engines: the part of the time that best-effort work should get, and when it was last decided. */
  readonly share: number;
  readonly sharedAtMs: number;
  /** The rules have just changed, so bursts that end now began under the old ones. */
  readonly settling: boolean;
  /** When the present evidence began. */
  readonly sinceMs: number;
  /** When the level last went down. */
  readonly downAtMs: number;
  /** When best-effort work last ran, or was paused. */
  readonly colocatedAtMs: number;
  /** The highest level that had room under this load. Less evidence is needed to return to it. */
  readonly held: number;
  /** By level: levels that must not be tried for a time. */
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
  /** It trains, so its `slowdown` is about throughput, not about bursts. */
  readonly training: boolean;
  /** Bursts since it came. */
  readonly bursts: number;
  readonly reference: Reference | undefined;
  /** Bursts alone that will become the next reference. */
  readonly growing: Alone;
  /** When best-effort work was last paused for it. */
  readonly pausedAtMs: number | undefined;
  readonly evidence: Evidence;
  /** The bursts that the evidence is about. */
  readonly seen: Bursts;
  /** Evidence about requests, where the objective names them. */
  readonly requests: RequestsMemory;
  readonly tightest: RequestKind | undefined;
  readonly engine: EngineMemory;
  /** Its objective names requests, and the service does not tell how long they take. */
  readonly unheard: boolean;
  /** How a training gets on beside best-effort work, since it was last judged. */
  readonly progress: Pace;
  readonly load: Load;
  /** How much of its bursts it waits for the GPU. */
  readonly waits: Waits;
  /** Its objective is the one by default. */
  readonly gaps: boolean;
}

interface Alone extends Progress {
  readonly seen: Bursts;
  readonly bursts: number;
  /** Empty unless it trains. */
  readonly pace: Pace;
}

interface Reference extends Progress {
  readonly p50Us: number;
  readonly p99Us: number;
  /** The p99 of the time that bursts waited for the GPU. */
  readonly waitedP99Us: number;
  readonly bursts: number;
  readonly pace: Pace;
}

/**
 * Whether best-effort work ran beside the bursts since the last look. "held": all of it waited, so the bursts are both as
 * alone, and what the rules in force lead to.
 */
export type Circumstance = "colocated" | "held" | "alone" | "settling";

/** The first bursts of a service are unlike all others, and do not count. */
const WARM_UP = 50;
/** A burst of a training may be ten iterations. */
const WARM_UP_TRAINING = 3;
/** So many bursts tell a p99. */
const ENOUGH_ALONE = 200;
/** So few bursts still make a reference when the pause is over. Its p99 is then the largest burst, which is at most too
 * small. */
const FEW_ALONE = 20;
/** A reference is replaced by one from so many bursts. */
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
  requests: nothingOfRequests,
  tightest: undefined,
  engine: noEngine,
  unheard: false,
  progress: noPace,
  load: noLoad,
  waits: noWaits,
  gaps: false,
});

interface Around {
  readonly how: Circumstance;
  /** Since the last look. */
  readonly seconds: number;
  /** Since the level last went down. */
  readonly sinceDownMs: number;
  readonly nowMs?: number;
  /** By which factor best-effort work beside requests makes them longer, as far as is known. */
  readonly stretch?: number;
  /** Its bursts are protected as under `strict`, which is what an objective by default compares with. */
  readonly protected?: boolean;
}

const isJudged = (how: Circumstance): boolean => how === "colocated" || how === "held";

export function look(was: ClientMemory, client: MeteredHigh, around: Around): ClientMemory {
  const { how, seconds } = around;
  const { objective, launches = 0 } = client;
  if (isAboutThroughput({ ...was, objective }))
    return lookAtTraining(was, { ...client, launches }, how, seconds);
  const limits = limitsFor({ ...was, objective });
  const ended = burstsOf(client);
  const { bursts, above, lastedUs, waitedUs } = tally(ended, limits);
  const waits = isWarm(was) ? withWaits(was.waits, { bursts, lastedUs, waitedUs }) : was.waits;
  const lastBurst = bursts > 0 ? 0 : was.load.lastBurst + seconds;
  // How many bursts an engine makes says little about its requests, which are judged themselves.
  const load = isAboutRequestsOnly(client)
    ? { ...noLoad, lastBurst }
    : withLoad(was.load, { bursts, waitedUs, seconds }, isJudged(how));
  const heard = withHeard(
    {
      ...was,
      objective,
      load,
      waits,
      gaps: isByDefault(objective),
      bursts: was.bursts + bursts,
    },
    client,
    around,
  );
  const isAlone = how === "alone" || how === "held";
  const grows = isWarm(was) && (isAlone || (how === "colocated" && around.protected));
  const now = grows ? growReference(heard, ended, { bursts, launches, seconds }) : heard;
  if (!isJudged(how) || !limits) return now;
  const judged =
    bursts === 0
      ? now
      : {
          ...now,
          evidence: withBursts(now.evidence, bursts, above),
          seen: sumOf(now.seen, ended),
        };
  return isMet(judged) ? { ...judged, state: "met" } : judged;
}

/** What the service tells of its requests. */
function withHeard(
  was: ClientMemory,
  client: MeteredHigh,
  { how, sinceDownMs, nowMs = 0, stretch = 1 }: Around,
): ClientMemory {
  const { objective, requests: seen, ended } = client;
  const limits = objective?.requests;
  if (!limits) return was.unheard ? { ...was, unheard: false, state: "learning" } : was;
  if (!seen) return { ...was, unheard: true, state: "unheard" };
  const state = was.unheard ? "learning" : was.state;
  const engine = withRequestsOf(was.engine, limits, seen, {
    ...{ nowMs, stretch, ended },
    untilUs: besideUntilUs([client]),
  });
  if (!isJudged(how)) return { ...was, unheard: false, state, engine };
  const requests = withRequests(was.requests, limits, seen, sinceDownMs);
  return { ...was, unheard: false, state, engine, requests, tightest: tightestKind(requests) };
}

/** The `slowdown` of a training is about its throughput. */
export const isAboutThroughput = ({
  training,
  objective,
}: Pick<ClientMemory, "training" | "objective">): boolean =>
  training && objective?.slowdown !== undefined;

/** A training has no load that could change: it launches, or it stands still. */
function lookAtTraining(
  was: ClientMemory,
  client: MeteredHigh & { readonly launches: number },
  how: Circumstance,
  seconds: number,
): ClientMemory {
  const { objective, launches } = client;
  const ended = burstsOf(client);
  const { bursts } = tally(ended, undefined);
  const lastBurst = launches > 0 ? 0 : was.load.lastBurst + seconds;
  const load = { ...noLoad, lastBurst };
  const now = { ...was, objective, load, bursts: was.bursts + bursts };
  if (how === "alone" || how === "held")
    return isWarm(was) ? growReference(now, ended, { bursts, launches, seconds }) : now;
  const { reference } = was;
  if (how === "settling" || !reference) return now;
  const progress = addLook(was.progress, { launches, seconds }, lastBurst);
  if (!isTrial(progress)) return { ...now, progress };
  const evidence = judge(progress, reference.pace, objective?.slowdown ?? 0);
  const next = { ...now, evidence, progress: restartPace(progress) };
  return isMet(next) ? { ...next, state: "met" } : next;
}

/** An objective that was not met alone needs more evidence, because a few hundred bursts may be luck. */
function isMet({ state, objective, evidence, requests }: ClientMemory): boolean {
  const limits = objective?.requests;
  if (limits && !requestsHold(limits, requests)) return false;
  if (!isAboutBursts(objective)) return limits !== undefined;
  return state === "impossible" ? holdsWithMargin(evidence) : holds(evidence);
}

export const isAboutRequestsOnly = ({ objective }: Pick<MeteredHigh, "objective">): boolean =>
  objective?.requests !== undefined && !isAboutBursts(objective);

const isAboutBursts = (objective: Objective | undefined): boolean =>
  objective?.p99Us !== undefined || objective?.slowdown !== undefined;

/** Of a client that does not train; undefined while its limits are not known. */
export const limitsFor = ({ objective, reference }: ClientMemory): Limits | undefined =>
  limitsOf(objective, reference);

export const isWarm = ({ bursts, training }: ClientMemory): boolean =>
  bursts >= (training ? WARM_UP_TRAINING : WARM_UP);

export const lacksReference = ({ objective, reference }: ClientMemory): boolean =>
  objective?.slowdown !== undefined && !reference;

/** Its bursts or its requests break the objective. */
export const breaks = (client: ClientMemory): boolean =>
  isBroken(client.evidence) || requestsBroken(client.requests) || medianOf(client) === "broken";

/** More bursts are above the limit of the median than a true half explains: four standard deviations. */
const SIGNIFICANT = 2;
const SOME = 50;

/** How the median burst at the level in force compares with its limit. */
export function medianOf({
  objective,
  reference,
  seen,
}: ClientMemory): "holds" | "broken" | "open" {
  const limit = medianWaitUs(objective, reference);
  if (limit === undefined) return "holds";
  const { bursts, above } = tally(seen, { lastedUs: Number.POSITIVE_INFINITY, waitedUs: limit });
  if (bursts >= SOME && above > bursts / 2 + SIGNIFICANT * Math.sqrt(bursts)) return "broken";
  return bursts >= SOME && above <= bursts / 2 ? "holds" : "open";
}

/** With the state that follows at this level if the objective is broken. */
export function withVerdict(was: ClientMemory, level: number): ClientMemory {
  if (!breaks(was)) return was;
  return { ...was, state: level === 0 && notEvenAlone(was) ? "impossible" : "missed" };
}

/** The rules or the load have changed, so the evidence no longer applies. */
export const withoutEvidence = (was: ClientMemory): ClientMemory => ({
  ...was,
  evidence: noEvidence,
  seen: noBursts,
  requests: nothingOfRequests,
  progress: restartPace(was.progress),
  load: { ...noLoad, lastBurst: was.load.lastBurst },
});

/** A pause for its reference begins. A reference from too few bursts is completed, any other is made anew. */
export const startPause = (was: ClientMemory): ClientMemory => ({
  ...was,
  reference: undefined,
  growing: isShort(was) ? was.growing : nothingAlone,
});

/** There is no reference, or it is from too few bursts, or, if the client trains, from too short a time. */
export const isShort = ({ reference, training }: ClientMemory): boolean =>
  !reference || (training ? !isTrial(reference.pace) : reference.bursts < ENOUGH_ALONE);

/** The load has changed since the reference was made. */
export const isOutdated = ({ reference, load, training }: ClientMemory): boolean =>
  reference !== undefined && !training && differ(load.usual, reference);

/** The pause is over: a reference is made of the bursts that ended in it. */
export function endPause(was: ClientMemory, nowMs: number): ClientMemory {
  const now = { ...was, pausedAtMs: nowMs };
  const few = was.training ? was.growing.pace.looks.length > 0 : was.growing.bursts >= FEW_ALONE;
  return !was.reference && few ? makeReference(now) : now;
}

function growReference(
  was: ClientMemory,
  ended: Bursts,
  { bursts, launches, seconds }: Progress & { readonly bursts: number },
): ClientMemory {
  const { growing, reference, training, load } = was;
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
    : now.growing.bursts >= (reference ? ENOUGH_ANEW : ENOUGH_ALONE);
  return enough ? makeReference(now) : now;
}

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

const notEvenAlone = ({ objective, reference }: ClientMemory): boolean =>
  objective?.p99Us !== undefined && reference !== undefined && reference.p99Us > objective.p99Us;

/** No burst of it has ended for some time, so its evidence is not waited for. */
export const saysNothing = ({ load }: ClientMemory): boolean => isQuiet(load);
