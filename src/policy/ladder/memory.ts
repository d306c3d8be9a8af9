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
  readonly pacedAtMs: number;
  readonly settling: boolean;
  readonly sinceMs: number;
  readonly downAtMs: number;
  readonly colocatedAtMs: number;
  readonly beside: readonly string[]; // the latest first
  /** The highest level that had room under this load. Less evidence is needed to return to it. */
  readonly held: number;
  readonly bans: readonly (Ban | undefined)[]; // by level
  readonly clients: ReadonlyMap<string, ClientMemory>;
}

export interface Ban {
  readonly untilMs: number;
  readonly lengthMs: number;
}

/** "held": all best-effort work waited, which tells about the burst alone and about the level. */
export type Circumstance = "colocated" | "held" | "alone" | "settling";

interface Context {
  readonly how: Circumstance;
  readonly seconds: number; // since the last sample
  readonly sinceDownMs: number;
  readonly protected?: boolean; // its bursts are a reference for an objective by default
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
      // A first burst in which the program compiles says nothing of others.
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
  // The pace of slices follows from steps and requests, if it is known (paced.ts).
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

/** An objective that was not met alone needs more evidence: a few hundred bursts may be luck. */
function isMet({ state, objective, evidence, requests }: ClientMemory): boolean {
  const limits = objective?.requests;
  if (limits && !requestsHold(limits, requests)) return false;
  if (!isAboutBursts(objective)) return limits !== undefined;
  return state === "impossible" ? holdsWithMargin(evidence) : holds(evidence);
}

export const breaks = (client: ClientMemory): boolean =>
  isBroken(client.evidence) || requestsBroken(client.requests) || medianOf(client) === "broken";

const SIGNIFICANT = 2; // 4 standard deviations of a true half
const MIN_BURSTS = 50;

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

export function withVerdict(was: ClientMemory, level: number): ClientMemory {
  if (!breaks(was)) return was;
  return { ...was, state: level === 0 && notEvenAlone(was) ? "impossible" : "missed" };
}

export const withoutEvidence = (was: ClientMemory): ClientMemory => ({
  ...was,
  evidence: noEvidence,
  seen: noBursts,
  requests: nothingOfRequests,
  progress: restartPace(was.progress),
  load: withoutAmounts(was.load),
});

export const saysNothing = ({ load }: ClientMemory): boolean => isQuiet(load);

export const atLevel = (now: LadderMemory, level: number): LadderMemory =>
  level === now.level ? now : restart(now, level);

/**
 * On the way up, bursts that began under the old parameters count too: a bad level is left one
 * sample earlier. But trainings have launched far ahead.
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
