// The default. A client without an objective is protected as under `strict`, and so is one that leaves gaps, which has one by
// default (gaps.ts). With objectives (run --slo) a ladder is climbed as far as bursts and requests allow. Beside services that
// leave gaps, best-effort work goes on within bursts. Beside others longer chunks come first, which cost little. In mode mps chunks
// beside requests follow: a request that keeps the GPU busy gets slower by them, also through cache, clock and power, which breaks the
// objective, so they end soon (docs/design/decisions/0004). In mode isolated they would only delay its burst, and best-effort
// work would gain no time, because as many bursts come as before. An engine that batches requests does more in each step when it
// is delayed, so that its requests take less GPU time: they are given beside requests whose users have time to spare.
import { us } from "#core";
import { type Rules, rules } from "#protocol";
import type { Observed, Policy, UsualBurst } from "../contract/policy.ts";
import { type About, climbing, type Ladder } from "../ladder/ladder.ts";
import { turnsLadder } from "./slo.ts";

/**
 * In mode mps, beside a request, one chunk in this many times its length, which is that under `strict`. Each level gives and
 * costs twice as much as the one below. An eighth is the least that gives more than the long chunks before.
 */
const BESIDE_EVERY = [8, 4, 2] as const;

/**
 * In mode isolated best-effort work goes on within bursts for half of each, until shortly before its end, and until the program waits for
 * it, which ends it on the other levels, too.
 */
const HALF = 1 / 2;
const NEARLY_ALL = 7 / 8;
/**
 * How long before the end it must stop, if the request is to wait no longer than under `strict`: for a chunk, two switches of contexts, and
 * what is left of the request's own work.
 */
const BEFORE_END_US = 1000;

/** While no burst was seen. A level that holds nothing at all is the last one only. */
const UNKNOWN_BURST_US = 4000;
/** A burst of fewer launches is divided by time. */
const FEW_LAUNCHES = 32;

function ladder(base: Rules, about: About, seen: Observed): Ladder {
  const turns = turnsLadder(base, about);
  const isolated = base.isolated === 1;
  // Beside engines there are slices instead of levels (requests/pacing.ts).
  if (about === "requests") return [{}];
  const last = turns.slice(-1);
  // A longer chunk costs more than what fills a gap.
  if (about === "gaps")
    return [{}, ...(isolated ? besideBegins(base, seen) : besideChunks(base)), ...last];
  return isolated ? turns : [...turns.slice(0, -1), ...besideChunks(base), ...last];
}

const besideChunks = ({ chunkUs }: Rules): Ladder =>
  BESIDE_EVERY.map((chunks) => ({
    chunkUs,
    resumeDelayUs: 0,
    coRunEveryUs: us(chunks * chunkUs),
  }));

/**
 * A program launches as much for each request, but the time in which it does drifts with its CPU. So a part of a burst is one of its
 * launches, where there are enough. The resume delay stays: the next burst of a step is often a copy that the program waits for at once.
 */
function besideBegins({ chunkUs }: Rules, { high }: Observed): Ladder {
  const untilItWaits = { chunkUs, graceUs: us(rules.graceUs.most) };
  const usual = leastUsual(high);
  const burstUs = least(high.map(({ burstP50Us = UNKNOWN_BURST_US }) => burstP50Us));
  const until = (part: number): Partial<Rules> =>
    usual
      ? { ...untilItWaits, graceLaunches: Math.floor(part * usual.launches) }
      : { chunkUs, graceUs: us(Math.ceil(Math.min(rules.graceUs.most, part * burstUs))) };
  const nearlyAll = usual ? Math.max(NEARLY_ALL, 1 - BEFORE_END_US / usual.us) : NEARLY_ALL;
  return [until(HALF), until(nearlyAll), untilItWaits];
}

/** The shortest usual burst of all clients; undefined if one is not known, or too short to be divided. */
function leastUsual(high: Observed["high"]): UsualBurst | undefined {
  const known = high.flatMap(({ usualBurst }) => usualBurst ?? []);
  if (known.length === 0 || known.length < high.length) return undefined;
  const launches = least(known.map((burst) => burst.launches));
  return launches < FEW_LAUNCHES ? undefined : { launches, us: least(known.map(({ us }) => us)) };
}

const least = (values: readonly number[]): number =>
  values.length > 0 ? Math.min(...values) : UNKNOWN_BURST_US;

export const cotenant: Policy = {
  name: "cotenant",
  summary:
    "as `strict`, but beside services that their CPU limits; with objectives (run --slo) all that they leave",
  learnsFrom: "services",
  ...climbing(ladder, { gaps: true, slices: true }),
};
