// The policy climbs a level when bursts and requests leave room, and returns to `strict` at once
// when they break the objective or the load rises. A level that broke one is not tried for a time
// that doubles (decision 0003).
import { us } from "#core";
import { constants, type Rules, rules } from "#protocol";
import type { Look, Memory, MeteredHigh, Observed, Policy } from "../contract/policy.ts";
import { strict } from "../parameters/strict.ts";
import {
  type ClientMemory,
  isAboutBursts,
  isAboutRequestsOnly,
  isAboutThroughput,
  isWarm,
  lacksReference,
  newClient,
} from "./client.ts";
import { climb } from "./climb.ts";
import { isByDefault, withGapsObjective } from "./gaps.ts";
import {
  atLevel,
  type Ban,
  breaks,
  type Circumstance,
  type LadderMemory,
  look,
  mapClients,
  restart,
  saysNothing,
  withVerdict,
} from "./memory.ts";
import { onNewLadder, withNewObjectives } from "./new-objectives.ts";
import { pace, paceRules, withPacing } from "./paced.ts";
import { endPause, isOutdated, isShort, startPause } from "./reference.ts";

/** Level 0 is `strict`; each level changes its parameters, and gives more than the one below. */
export type Ladder = readonly Partial<Rules>[];
export type About = "bursts" | "throughput" | "requests" | "gaps";

/** The number of levels may depend on the mode and on `about`, not on the bursts. */
type LevelChanges = (base: Rules, about: About, seen: Observed) => Ladder;

const BAN_MS = { first: 60_000, most: 1_800_000 } as const;
const FORGOTTEN_AFTER = 4;
const PAUSE_MS = 10_000;
const STRANGER_AFTER_MS = 60_000; // unknown best-effort work may be another job then
const KNOWN_BESIDE = constants.MAX_BEST_EFFORT;
const PAUSE_EVERY_MS = 600_000;
/** Minimum progress in a pause disturbs the reference, so it is as rare as the ranges allow. */
const PAUSE_PROGRESS_US = us(rules.progressEveryUs.most);

interface Abilities {
  readonly gaps: boolean;
  /** With objectives about requests only, it gives slices of the time in place of levels. */
  readonly slices: boolean;
}

export function climbing(
  changes: LevelChanges,
  { gaps, slices }: Abilities = { gaps: false, slices: false },
): Required<Pick<Policy, "rules" | "remember">> {
  return {
    rules(seen, memory) {
      const base = strict.rules(seen);
      if (memory?.pausedUntilMs !== undefined)
        return {
          ...base,
          paused: 1,
          progressAfterUs: PAUSE_PROGRESS_US,
          progressEveryUs: PAUSE_PROGRESS_US,
        };
      if (memory?.pace) return withChange(base, paceRules(memory.pace, seen));
      const change = changes(base, aboutOf(seen, memory), seen)[memory?.level ?? 0];
      return change ? withChange(base, change) : base;
    },
    remember(look, was: LadderMemory = nothing) {
      const waitsOf = (id: string) => was.clients.get(id)?.waits;
      const seen = gaps
        ? { ...look, high: look.high.map((one) => withGapsObjective(one, waitsOf(one.id))) }
        : look;
      const leavesGaps = (id: string) => gaps && waitsOf(id)?.gaps === true;
      const about = inCommon(seen.high, leavesGaps);
      const same = was.about === about;
      const known = withNewObjectives(seen.high, same ? was : onNewLadder(was));
      const now = withObservation(seen, { ...known, about }, gaps);
      if (slices && about === "requests") {
        const passedMs = Number.isNaN(was.nowMs) ? 0 : look.nowMs - was.nowMs;
        return pace(seen, withPacing(seen, now, passedMs));
      }
      return decide(seen, hasStrangers(look, now, was) ? besideStrangers(now) : now, () =>
        levelsOf(changes, seen, now),
      );
    },
  };
}

function hasStrangers(
  { jobs = [] }: Look,
  now: LadderMemory,
  { colocatedAtMs, beside }: LadderMemory,
): boolean {
  const wasAway = now.colocatedAtMs - colocatedAtMs > STRANGER_AFTER_MS;
  const known = jobs.length > 0 && jobs.every((job) => beside.includes(job));
  return wasAway && !known;
}

function levelsOf(changes: LevelChanges, seen: Observed, memory: Memory): readonly Rules[] {
  const base = strict.rules(seen);
  return changes(base, aboutOf(seen, memory), seen).map((change) => withChange(base, change));
}

const withChange = (base: Rules, change: Partial<Rules>): Rules => ({
  ...base,
  ...change,
  chunkUs: us(Math.max(base.chunkUs, change.chunkUs ?? 0)),
});

function aboutOf({ high }: Observed, memory: Memory | undefined): About {
  if (high.length > 0 && high.every(({ training }) => training === true)) return "throughput";
  return memory?.about ?? "bursts";
}

function inCommon(
  high: readonly MeteredHigh[],
  leavesGaps: (id: string) => boolean,
): Memory["about"] {
  if (high.length === 0) return undefined;
  if (high.every(isAboutRequestsOnly)) return "requests";
  const gaps = high.every(({ id, objective }) => isAboutBursts(objective) && leavesGaps(id));
  return gaps ? "gaps" : undefined;
}

const nothing: LadderMemory = {
  about: undefined,
  nowMs: Number.NaN,
  level: 0,
  pacedAtMs: Number.NEGATIVE_INFINITY,
  held: 0,
  settling: true,
  sinceMs: Number.NaN,
  downAtMs: Number.NEGATIVE_INFINITY,
  colocatedAtMs: Number.NEGATIVE_INFINITY,
  beside: [],
  pausedUntilMs: undefined,
  bans: [],
  clients: new Map(),
};

function withObservation(seen: Look, was: LadderMemory, gaps: boolean): LadderMemory {
  const { nowMs, colocated, held = false, high, jobs = [] } = seen;
  const seconds = Number.isNaN(was.nowMs) ? 0 : (nowMs - was.nowMs) / 1000;
  const how = circumstanceOf(seen, was);
  const clients = high.map((client): [string, ClientMemory] => {
    const known = was.clients.get(client.id) ?? newClient(client);
    const sinceDownMs = nowMs - was.downAtMs;
    const around = { how, seconds, sinceDownMs };
    const { objective } = client;
    const byDefault = objective === undefined ? gaps : isByDefault(objective);
    const isProtected = was.level === 0 && byDefault;
    return [client.id, look(known, client, { ...around, protected: isProtected })];
  });
  const there = colocated || held || was.pausedUntilMs !== undefined;
  const colocatedAtMs = there ? nowMs : was.colocatedAtMs;
  const sinceMs = Number.isNaN(was.nowMs) ? nowMs : was.sinceMs;
  const beside = [...new Set([...jobs, ...was.beside])].slice(0, KNOWN_BESIDE);
  const times = { nowMs, sinceMs, colocatedAtMs };
  return { ...was, ...times, beside, settling: false, clients: new Map(clients) };
}

function circumstanceOf(
  { colocated, held }: Look,
  { settling, pausedUntilMs }: LadderMemory,
): Circumstance {
  if (settling) return "settling";
  if (pausedUntilMs !== undefined) return "alone";
  if (colocated) return "colocated";
  if (held) return colocated === false ? "held" : "colocated";
  return colocated === false ? "alone" : "settling";
}

function decide(seen: Look, now: LadderMemory, levels: () => readonly Rules[]): LadderMemory {
  const { colocated } = seen;
  const clients = [...now.clients.values()];
  // All clients share one parameter table: one that can't be judged is protected as under `strict`,
  // and all others with it.
  if (clients.length === 0 || clients.some(({ objective, unheard }) => !objective || unheard))
    return atLevel({ ...now, pausedUntilMs: undefined }, 0);
  if (now.pausedUntilMs !== undefined) return waitForPause(now, now.pausedUntilMs, clients);
  if (clients.some(breaks)) return fall(now);
  if (clients.some(({ load }) => load.change === "rose")) return unlearn(now);
  if (clients.some(({ load }) => load.change === "fell"))
    return restart({ ...now, bans: now.bans.map((ban) => ban && shorten(ban, now.nowMs)) });
  if (colocated && clients.some((client) => wantsPause(client, now))) {
    const starting = mapClients(now, (client) =>
      wantsPause(client, now) ? startPause(client) : client,
    );
    return restart({ ...starting, pausedUntilMs: now.nowMs + PAUSE_MS }, 0);
  }
  if (clients.some((client) => client.state === "impossible" || lacksReference(client)))
    return atLevel(now, 0);
  return climb(seen, now, levels());
}

function unlearn(now: LadderMemory): LadderMemory {
  const learning = mapClients(now, (client) => ({ ...client, state: "learning" }));
  return restart({ ...learning, held: 0 }, 0);
}

/** Trainings keep the level, which costs them some seconds of throughput if it is too high. */
const besideStrangers = (now: LadderMemory): LadderMemory =>
  [...now.clients.values()].every(isAboutThroughput) ? restart(now) : unlearn(now);

function fall(now: LadderMemory): LadderMemory {
  const judged = mapClients(now, (client) => withVerdict(client, now.level));
  if (now.level === 0) return restart(judged);
  const bans = [...now.bans];
  bans[now.level] = lengthen(now.bans[now.level], now.nowMs);
  return restart({ ...judged, bans, held: Math.min(now.held, now.level - 1) }, 0);
}

function lengthen(before: Ban | undefined, nowMs: number): Ban {
  const again = before && nowMs - before.untilMs < FORGOTTEN_AFTER * before.lengthMs;
  const lengthMs = again ? Math.min(BAN_MS.most, 2 * before.lengthMs) : BAN_MS.first;
  return { untilMs: nowMs + lengthMs, lengthMs };
}

/** Under less load a banned level may hold, so it is tried again soon. */
const shorten = (ban: Ban, nowMs: number): Ban => ({
  ...ban,
  untilMs: Math.min(ban.untilMs, nowMs + BAN_MS.first),
});

function wantsPause(client: ClientMemory, { nowMs, level }: LadderMemory): boolean {
  const { objective, reference, state, load, pausedAtMs } = client;
  if (isByDefault(objective)) return false;
  if (load.lastBurst > 1 || !isWarm(client)) return false;
  if (pausedAtMs !== undefined && nowMs - pausedAtMs < PAUSE_EVERY_MS) return false;
  if (objective?.slowdown !== undefined) return isShort(client) || isOutdated(client);
  // This is asked once; solo times of requests are not known from bursts.
  return !reference && level === 0 && state === "missed" && objective?.p99Us !== undefined;
}

function waitForPause(
  now: LadderMemory,
  untilMs: number,
  clients: readonly ClientMemory[],
): LadderMemory {
  const seen = clients.every((client) => client.reference || saysNothing(client));
  if (!seen && now.nowMs < untilMs) return now;
  const ended = mapClients(now, (client) => endPause(client, now.nowMs));
  return restart({ ...ended, pausedUntilMs: undefined });
}
