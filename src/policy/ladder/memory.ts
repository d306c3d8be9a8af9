// A climbing policy's (ladder.ts) memory of a GPU between samples, and how a sample updates that of each high client.
// A memory is immutable: each sample makes a new one.

import type { Memory, MeteredHigh } from "../contract/policy.ts";
import { holds, holdsWithMargin, isBroken, noEvidence, withBursts } from "../evidence/evidence.ts";
import { addLook, isTrial, judge, restartPace } from "../evidence/throughput.ts";
import {
  nothingOfRequests,
  requestsBroken,
  requestsHold,
  tightestKind,
  withRequests,
} from "../requests/requests.ts";
import {
  type ClientMemory,
  isAboutBursts,
  isAboutRequestsOnly,
  isAboutThroughput,
  isWarm,
  limitsFor,
} from "./client.ts";
import { burstsThatTell } from "./enough.ts";
import { isByDefault, withWaits } from "./gaps.ts";
import { isQuiet, noLoad, withLoad, withoutAmounts } from "./load.ts";
import { growReference, notEvenAlone } from "./reference.ts";
import { burstsOf, medianWaitUs, noBursts, sumOf, tally, usualUs } from "./yardstick.ts";

export interface LadderMemory extends Memory {
  readonly nowMs: number;
  /** Beside engines: when the pace was last decided. */
  readonly pacedAtMs: number;
  /** The rules have just changed, so bursts that end now began under the old ones. */
  readonly settling: boolean;
  /** When the present evidence began. */
  readonly sinceMs: number;
  /** When the level last went down. */
  readonly downAtMs: number;
  /** When best-effort work last ran, or was paused. */
  readonly colocatedAtMs: number;
  /** The best-effort clients that worked, the latest first. */
  readonly beside: readonly string[];
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

/**
 * Whether best-effort work ran concurrently with the bursts since the last sample. "held": all of it waited, so the bursts are both as
 * alone, and what the rules in force lead to.
 */
export type Circumstance = "colocated" | "held" | "alone" | "settling";

interface Context {
  readonly how: Circumstance;
  /** Since the last sample. */
  readonly seconds: number;
  /** Since the level last went down. */
  readonly sinceDownMs: number;
  /** Its bursts are protected as under `strict`, which is what an objective by default compares with. */
  readonly protected?: boolean;
}

const isJudged = (how: Circumstance): boolean => how === "colocated" || how === "held";

export function look(was: ClientMemory, client: MeteredHigh, around: Context): ClientMemory {
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
      // A first burst in which the program compiles says nothing of how long bursts are.
      shortestUs: bursts > 0 ? Math.min(was.shortestUs, lastedUs / bursts) : was.shortestUs,
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

/** Adds the service's reports of its requests. */
function withHeard(
  was: ClientMemory,
  client: MeteredHigh,
  { how, sinceDownMs }: Context,
): ClientMemory {
  const { objective, requests: seen } = client;
  const limits = objective?.requests;
  if (!limits) return was.unheard ? { ...was, unheard: false, state: "learning" } : was;
  if (!seen) return { ...was, unheard: true, state: "unheard" };
  const state = was.unheard ? "learning" : was.state;
  if (!isJudged(how)) return { ...was, unheard: false, state };
  const requests = withRequests(was.requests, limits, seen, sinceDownMs);
  const heard = { ...was, unheard: false, state, requests };
  // Where the pace of slices follows from what steps and requests take, that tells (paced.ts).
  if (was.mostStretch !== undefined && isAboutRequestsOnly(client)) return heard;
  return { ...heard, tightest: tightestKind(requests), mostStretch: undefined, stepless: false };
}

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

/** Its bursts or its requests break the objective. */
export const breaks = (client: ClientMemory): boolean =>
  isBroken(client.evidence) || requestsBroken(client.requests) || medianOf(client) === "broken";

/** More bursts are above the limit of the median than a true half explains: four standard deviations. */
const SIGNIFICANT = 2;
const MIN_BURSTS = 50;

/** How the median burst at the level in force compares with its limit. */
export function medianOf({
  objective,
  reference,
  seen,
}: ClientMemory): "holds" | "broken" | "open" {
  const limit = medianWaitUs(objective, reference);
  if (limit === undefined) return "holds";
  const limits = { lastedUs: Number.POSITIVE_INFINITY, waitedUs: limit };
  const { bursts, above } = tally(seen, limits);
  if (bursts < burstsThatTell(MIN_BURSTS, usualUs(seen))) return "open";
  if (above > bursts / 2 + SIGNIFICANT * Math.sqrt(bursts)) return "broken";
  return above <= bursts / 2 ? "holds" : "open";
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
  load: withoutAmounts(was.load),
});

/** No burst of it has ended for some time, so its evidence is not waited for. */
export const saysNothing = ({ load }: ClientMemory): boolean => isQuiet(load);

/** With this level. If it is another one, evidence starts again. */
export const atLevel = (now: LadderMemory, level: number): LadderMemory =>
  level === now.level ? now : restart(now, level);

/**
 * Evidence starts again, at this level. On the way up, bursts that began under the old rules count too, so that a level that breaks the
 * objective is left one sample earlier; except for trainings, which have launched far ahead.
 */
export function restart(now: LadderMemory, level = now.level): LadderMemory {
  const settling = level <= now.level || [...now.clients.values()].some(({ training }) => training);
  const downAtMs = level < now.level ? now.nowMs : now.downAtMs;
  return { ...mapClients(now, withoutEvidence), level, settling, downAtMs, sinceMs: now.nowMs };
}

export const mapClients = (
  now: LadderMemory,
  change: (client: ClientMemory) => ClientMemory,
): LadderMemory => ({
  ...now,
  clients: new Map([...now.clients].map(([id, client]) => [id, change(client)])),
});
