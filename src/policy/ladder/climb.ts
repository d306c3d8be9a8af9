import type { Rules } from "#protocol";
import type { Look, MeteredHigh } from "../contract/policy.ts";
import { holdsSoFar, holdsWithMargin } from "../evidence/evidence.ts";
import { requestsLeaveRoom, requestsWouldHold } from "../requests/requests.ts";
import { type ClientMemory, isAboutRequestsOnly, isAboutThroughput, limitsFor } from "./client.ts";
import { isByDefault } from "./gaps.ts";
import { atLevel, type LadderMemory, medianOf, saysNothing } from "./memory.ts";
import { addedUs, holdClearly, isHopeless, longestFactor, wouldHold } from "./room.ts";
import { medianLimitsOf } from "./yardstick.ts";

/** Hundreds of bursts within a moment may all have met the same phase of a training. */
const SEEN_MS = 2_000;

export function climb(seen: Look, now: LadderMemory, levels: readonly Rules[]): LadderMemory {
  const heard = [...now.clients.values()].filter((client) => !saysNothing(client));
  if (heard.length === 0 || heard.some(standsStill)) return now;
  const top = highestToTry(seen, now, levels);
  const back = now.level < now.held;
  if (!back && now.nowMs - now.sinceMs < SEEN_MS) return now;
  const sure = surelyHeld(heard, now.level, levels.slice(0, top + 1));
  if (sure > now.level) return atLevel(now, sure);
  if (!heard.every((client) => hasRoom(client, now.level, back))) return now;
  const held = Math.max(now.level, now.held);
  const next = heard.every(isAboutThroughput)
    ? searchLevel(now, top, levels.length - 1)
    : now.level + 1;
  return now.level < top ? atLevel({ ...now, held }, next) : { ...now, held };
}

function hasRoom(client: ClientMemory, level: number, back: boolean): boolean {
  const { evidence, seen, objective, requests } = client;
  if (objective?.requests) {
    if (!requestsLeaveRoom(objective.requests, requests, back)) return false;
    if (objective.p99Us === undefined && objective.slowdown === undefined) return true;
  }
  // Its reference is of bursts at level 0, so nothing more can be learned there.
  if (level === 0 && isByDefault(objective)) return true;
  if (medianOf(client) !== "holds") return false;
  if (back) return holdsSoFar(evidence);
  const limits = limitsFor(client);
  return (
    holdsWithMargin(evidence) || (limits !== undefined && holdClearly(seen, limits, client.gaps))
  );
}

const standsStill = (client: ClientMemory): boolean =>
  isAboutThroughput(client) && client.load.lastBurst > 0;

// A level that is too high costs a training some seconds of throughput, and no request. So the last
// level is tried first, then the middle of those below.
function searchLevel({ level, held }: LadderMemory, top: number, last: number): number {
  if (level < held) return Math.min(held, top);
  return top === last ? top : Math.ceil((level + top) / 2);
}

function highestToTry(
  { high }: Look,
  { nowMs, bans, clients, level }: LadderMemory,
  levels: readonly Rules[],
) {
  const hopeless = (rules: Rules) =>
    high.some((one) => {
      const client = clients.get(one.id);
      if (client && isAboutThroughput(client)) return slowsTooMuch(one, rules, client);
      const limits = client && medianLimitsOf(client.objective, client.reference);
      // Without a profile, enough gaps are assumed: a trial tells.
      const gpuShare = one.gpuShare ?? (client?.waits.gaps ? 0 : undefined);
      return limits !== undefined && isHopeless({ ...one, gpuShare }, rules, limits);
    });
  const first = levels.findIndex(
    (rules, i) => i > level && (nowMs < (bans[i]?.untilMs ?? 0) || hopeless(rules)),
  );
  return (first < 0 ? levels.length : first) - 1;
}

/** In mode mps a training with priority loses less than best-effort work gains. */
const slowsTooMuch = (
  { name, gpuShare }: MeteredHigh,
  rules: Rules,
  { objective }: ClientMemory,
): boolean =>
  rules.isolated === 1 &&
  gpuShare !== undefined &&
  isHopeless({ name, gpuShare, burstP50Us: 1 }, rules, {
    lastedUs: 1 + (objective?.slowdown ?? 0),
    waitedUs: Number.POSITIVE_INFINITY,
  });

function surelyHeld(clients: readonly ClientMemory[], level: number, levels: readonly Rules[]) {
  const from = levels[level];
  const holdsAt = (to: Rules) =>
    from !== undefined &&
    clients.every((client) => {
      const { objective, requests, waits } = client;
      const burstUs = waits.lastedUs / waits.bursts;
      const factor = longestFactor(to, burstUs) / longestFactor(from, burstUs);
      if (objective?.requests && !requestsWouldHold(objective.requests, requests, factor))
        return false;
      if (isAboutRequestsOnly(client)) return true;
      const limits = limitsFor(client);
      return limits !== undefined && wouldHold(client.seen, limits, addedUs(from, to));
    });
  return levels.findLastIndex((to, i) => i > level && holdsAt(to));
}
