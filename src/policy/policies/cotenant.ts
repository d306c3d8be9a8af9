// In mode mps, chunks beside a request that keeps the GPU busy slow it down, also through cache,
// clock and power, so they end soon (decision 0004). In mode isolated they would only delay its
// burst. An engine that batches requests does more in each step when it is delayed.
import { us } from "#core";
import { type Rules, rules } from "#protocol";
import type { Observed, Policy, UsualBurst } from "../contract/policy.ts";
import { type About, climbing, type Ladder } from "../ladder/ladder.ts";
import { turnsLadder } from "./slo.ts";

// Each level gives and costs twice as much as the one below; an eighth is the least that gives more
// than the long chunks before.
const BESIDE_EVERY = [8, 4, 2] as const;

/** In mode isolated best-effort work runs in each burst until shortly before its end. */
const HALF = 1 / 2;
const NEARLY_ALL = 7 / 8;
/** A chunk, two switches of contexts and the rest of the request's own work come before the end. */
const BEFORE_END_US = 1000;
const UNKNOWN_BURST_US = 4000;
/** A burst of fewer launches is divided by time. */
const FEW_LAUNCHES = 32;

function ladder(base: Rules, about: About, seen: Observed): Ladder {
  const turns = turnsLadder(base, about);
  const isolated = base.isolated === 1;
  if (about === "requests") return [{}];
  const last = turns.slice(-1);
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

// A program launches as much for each request, but its timing drifts with its CPU. The resume delay
// stays: the next burst of a step is often a copy that the program waits for at once.
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
