// Climbing to an objective. Above `strict` stands a ladder of more generous rule tables. It is climbed a
// level at a time, each time the bursts at the level in force leave room, and left at once for `strict` when
// they don't, or when the load rises. A level that broke an objective is not tried again for a time that
// doubles (docs/design/decisions/0003).
import { type Rules, rules } from "#protocol";
import { holdsSoFar, holdsWithMargin, isBroken } from "./evidence.ts";
import {
  type Ban,
  broken,
  type Circumstance,
  type ClientMemory,
  endingAlone,
  isAboutThroughput,
  isOutdated,
  isShort,
  isWarm,
  type LadderMemory,
  lacksReference,
  limitsFor,
  look,
  newClient,
  saysNothing,
  startingAlone,
  withoutEvidence,
} from "./memory.ts";
import { strict } from "./policies/strict.ts";
import type { Look, MeteredHigh, Observed, Policy } from "./policy.ts";
import { addedUs, holdClearly, isHopeless, wouldHold } from "./room.ts";
import { medianLimitsOf } from "./yardstick.ts";

/** Level 0 is `strict`; each level changes its rules, and gives more than the one below. */
export type Ladder = readonly Partial<Rules>[];

/**
 * From `strict`'s rules, and whether every high client trains. Its length may depend on the mode, which stays, and on
 * nothing else.
 */
type LevelChanges = (base: Rules, training: boolean) => Ladder;

const BAN_MS = { first: 60_000, most: 1_800_000 } as const;
/** A ban that ended this many times its length ago is forgotten. */
const FORGOTTEN_AFTER = 4;
const PAUSE_MS = 10_000;
/** Best-effort work that comes after so long without any may be another job. */
const STRANGER_AFTER_MS = 60_000;
/** From one pause for a client to the next. */
const PAUSE_EVERY_MS = 600_000;
/** Hundreds of bursts in a moment may all have met the same phase of a training. */
const SEEN_MS = 2_000;
/** What trickles through a pause is in the reference. */
const PAUSE_TRICKLE_US = rules.trickleEveryUs.most;

/** The rules, and what is remembered, of a policy that climbs. */
export function climbing(changes: LevelChanges): Required<Pick<Policy, "rules" | "remember">> {
  return {
    rules(seen, memory) {
      const base = strict.rules(seen);
      if (memory?.pausedUntilMs !== undefined)
        return {
          ...base,
          paused: 1,
          trickleAfterUs: PAUSE_TRICKLE_US,
          trickleEveryUs: PAUSE_TRICKLE_US,
        };
      return levelsOf(changes, seen)[memory?.level ?? 0] ?? base;
    },
    remember(seen, was: LadderMemory = nothing) {
      const now = withObservation(seen, was);
      const strangers = now.colocatedAtMs - was.colocatedAtMs > STRANGER_AFTER_MS;
      return decide(seen, strangers ? besideStrangers(now) : now, levelsOf(changes, seen));
    },
  };
}

/** The rule table of each level. */
function levelsOf(changes: LevelChanges, seen: Observed): readonly Rules[] {
  const base = strict.rules(seen);
  return changes(base, isAllTraining(seen)).map((change) => ({
    ...base,
    ...change,
    chunkUs: Math.max(base.chunkUs, change.chunkUs ?? 0),
  }));
}

const isAllTraining = ({ high }: Observed): boolean =>
  high.length > 0 && high.every(({ training }) => training === true);

const nothing: LadderMemory = {
  nowMs: Number.NaN,
  level: 0,
  held: 0,
  settling: true,
  sinceMs: Number.NaN,
  colocatedAtMs: Number.NEGATIVE_INFINITY,
  pausedUntilMs: undefined,
  bans: [],
  clients: new Map(),
};

/** What was seen goes to each client's memory. */
function withObservation({ nowMs, colocated, high }: Look, was: LadderMemory): LadderMemory {
  const seconds = Number.isNaN(was.nowMs) ? 0 : (nowMs - was.nowMs) / 1000;
  const alone = was.pausedUntilMs !== undefined || !colocated;
  const unknown = was.settling || (colocated === undefined && was.pausedUntilMs === undefined);
  const how: Circumstance = unknown ? "settling" : alone ? "alone" : "colocated";
  const clients = high.map((client): [string, ClientMemory] => {
    const known = was.clients.get(client.id) ?? newClient(client);
    return [client.id, look(known, client, how, seconds)];
  });
  const colocatedAtMs = colocated || was.pausedUntilMs !== undefined ? nowMs : was.colocatedAtMs;
  const sinceMs = Number.isNaN(was.nowMs) ? nowMs : was.sinceMs;
  return { ...was, nowMs, sinceMs, colocatedAtMs, settling: false, clients: new Map(clients) };
}

/** What follows for the level, in order of urgency. */
function decide(seen: Look, now: LadderMemory, levels: readonly Rules[]): LadderMemory {
  const { colocated } = seen;
  const clients = [...now.clients.values()];
  // Somebody without an objective is protected as under `strict`, and so is everybody then.
  if (clients.length === 0 || clients.some(({ objective }) => !objective))
    return atLevel({ ...now, pausedUntilMs: undefined }, 0);
  if (now.pausedUntilMs !== undefined) return pausing(now, now.pausedUntilMs, clients);
  if (clients.some(({ evidence }) => isBroken(evidence))) return fallen(now);
  if (clients.some(({ load }) => load.change === "rose")) return unproven(now);
  if (clients.some(({ load }) => load.change === "fell"))
    return restarted({ ...now, bans: now.bans.map((ban) => ban && shortened(ban, now.nowMs)) });
  if (colocated && clients.some((client) => wantsPause(client, now))) {
    const starting = mapped(now, (client) =>
      wantsPause(client, now) ? startingAlone(client) : client,
    );
    return restarted({ ...starting, pausedUntilMs: now.nowMs + PAUSE_MS }, 0);
  }
  if (clients.some((client) => client.state === "impossible" || lacksReference(client)))
    return atLevel(now, 0);
  return climbed(seen, now, levels);
}

function climbed(seen: Look, now: LadderMemory, levels: readonly Rules[]): LadderMemory {
  const heard = [...now.clients.values()].filter((client) => !saysNothing(client));
  if (heard.length === 0 || heard.some(standsStill)) return now;
  const top = highestToTry(seen, now, levels);
  const back = now.level < now.held;
  if (!back && now.nowMs - now.sinceMs < SEEN_MS) return now;
  const sure = surelyHeld(heard, now.level, levels.slice(0, top + 1));
  if (sure > now.level) return atLevel(now, sure);
  if (!heard.every((client) => hasRoom(client, back))) return now;
  const held = Math.max(now.level, now.held);
  const next = heard.every(isAboutThroughput)
    ? searched(now, top, levels.length - 1)
    : now.level + 1;
  return now.level < top ? atLevel({ ...now, held }, next) : { ...now, held };
}

/** Its bursts at the level in force say that another may be tried. */
function hasRoom(client: ClientMemory, back: boolean): boolean {
  const { evidence, seen } = client;
  if (back) return holdsSoFar(evidence);
  const limits = limitsFor(client);
  return holdsWithMargin(evidence) || (limits !== undefined && holdClearly(seen, limits));
}

/** What was seen of a training before it stood still is no reason to try anything now. */
const standsStill = (client: ClientMemory): boolean =>
  isAboutThroughput(client) && client.load.lastBurst > 0;

/**
 * Of trainings a level too high costs seconds of a throughput, and no request: the last is tried first, then by halves
 * what is below one that was too high, and back it is one step.
 */
function searched({ level, held }: LadderMemory, top: number, last: number): number {
  if (level < held) return Math.min(held, top);
  return top === last ? top : Math.ceil((level + top) / 2);
}

/** Below the first level that is banned, or that can't hold. */
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
      return limits !== undefined && isHopeless(one, rules, limits);
    });
  const first = levels.findIndex(
    (rules, i) => i > level && (nowMs < (bans[i]?.untilMs ?? 0) || hopeless(rules)),
  );
  return (first < 0 ? levels.length : first) - 1;
}

/** Side by side a training with priority loses less than it gives; where contexts take turns, as much. */
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

/** The highest level of which the bursts at this one already tell that it holds. */
function surelyHeld(clients: readonly ClientMemory[], level: number, levels: readonly Rules[]) {
  const from = levels[level];
  const holdsAt = (to: Rules) =>
    from !== undefined &&
    clients.every((client) => {
      const limits = limitsFor(client);
      return limits !== undefined && wouldHold(client.seen, limits, addedUs(from, to));
    });
  return levels.findLastIndex((to, i) => i > level && holdsAt(to));
}

/** What was found out does not hold any more. */
function unproven(now: LadderMemory): LadderMemory {
  const learning = mapped(now, (client) => ({ ...client, state: "learning" }));
  return restarted({ ...learning, held: 0 }, 0);
}

/** That the level is too high for other neighbours costs trainings seconds of a throughput, and no request: it stays. */
const besideStrangers = (now: LadderMemory): LadderMemory =>
  [...now.clients.values()].every(isAboutThroughput) ? restarted(now) : unproven(now);

function fallen(now: LadderMemory): LadderMemory {
  const judged = mapped(now, (client) => broken(client, now.level));
  if (now.level === 0) return restarted(judged);
  const bans = [...now.bans];
  bans[now.level] = longer(now.bans[now.level], now.nowMs);
  return restarted({ ...judged, bans, held: Math.min(now.held, now.level - 1) }, 0);
}

function longer(before: Ban | undefined, nowMs: number): Ban {
  const again = before && nowMs - before.untilMs < FORGOTTEN_AFTER * before.lengthMs;
  const lengthMs = again ? Math.min(BAN_MS.most, 2 * before.lengthMs) : BAN_MS.first;
  return { untilMs: nowMs + lengthMs, lengthMs };
}

/** Under less load a level may hold that did not: it is soon tried again. */
const shortened = (ban: Ban, nowMs: number): Ban => ({
  ...ban,
  untilMs: Math.min(ban.untilMs, nowMs + BAN_MS.first),
});

/** Only co-located is a pause worth anything, and only while the client is at work. */
function wantsPause(client: ClientMemory, { nowMs, level }: LadderMemory): boolean {
  const { objective, reference, state, load, pausedAtMs } = client;
  if (load.lastBurst > 1 || !isWarm(client)) return false;
  if (pausedAtMs !== undefined && nowMs - pausedAtMs < PAUSE_EVERY_MS) return false;
  if (objective?.slowdown !== undefined) return isShort(client) || isOutdated(client);
  // Is it not even met alone? Asked once.
  return !reference && level === 0 && state === "missed";
}

function pausing(
  now: LadderMemory,
  untilMs: number,
  clients: readonly ClientMemory[],
): LadderMemory {
  const seen = clients.every((client) => client.reference || saysNothing(client));
  if (!seen && now.nowMs < untilMs) return now;
  const ended = mapped(now, (client) => endingAlone(client, now.nowMs));
  return restarted({ ...ended, pausedUntilMs: undefined });
}

/** The level in force, with the evidence started anew when it is another one. */
const atLevel = (now: LadderMemory, level: number): LadderMemory =>
  level === now.level ? now : restarted(now, level);

/**
 * On the way up the few that end now and began before count as well, so that a level that breaks the objective is left
 * a look earlier. Of trainings a queue of launches is ahead.
 */
function restarted(now: LadderMemory, level = now.level): LadderMemory {
  const settling = level <= now.level || [...now.clients.values()].some(({ training }) => training);
  return { ...mapped(now, withoutEvidence), level, settling, sinceMs: now.nowMs };
}

const mapped = (
  now: LadderMemory,
  change: (client: ClientMemory) => ClientMemory,
): LadderMemory => ({
  ...now,
  clients: new Map([...now.clients].map(([id, client]) => [id, change(client)])),
});
