// What is known of an LLM engine: how long it takes for a token now, which hundreds of tokens a second tell, and how long its
// requests take in terms of that. Best-effort work makes each step of the engine longer, and with it tokens and requests
// alike. So what was learned of requests at one share holds at another, and the time of a token tells at once what a share
// does to them (docs/design/decisions/0016).

import {
  mostStretch,
  noReading,
  type Reading,
  type Reads,
  slowedLife,
  slowedOf,
  slowedPart,
  unslowed,
  withReading,
} from "./reading.ts";
import {
  quantileOf,
  type RequestKind,
  type RequestLimits,
  type RequestQuantile,
  type RequestsSeen,
  statedKinds,
} from "./requests.ts";
import {
  type Late,
  latest,
  noTail,
  quantileOfTail,
  type Tail,
  tailOf,
  type Usual,
  withValues,
} from "./tail.ts";
import { LATE_WINDOWS, lateInWindow, tooManyLate, WINDOW_MS } from "./windows.ts";

type Tails = Readonly<Partial<Record<RequestKind, Tail>>>;

interface Read {
  readonly atMs: number;
  readonly values: number;
  readonly us: number;
}

/** Requests that wait for the engine to begin with them, where it tells. */
interface Queue {
  /** The mean of the last second of those that wait for more than the next step. */
  readonly waiting: number;
  /** All of them at the latest answer. */
  readonly latest: number;
  readonly atMs: number;
}

export interface EngineMemory {
  /** The kind that tells the pace: how long the engine takes for a token, or a request. */
  readonly pace: RequestKind | undefined;
  /** The newest values of that kind, as long as they would have been without best-effort work. */
  readonly recent: readonly Read[];
  /** Their mean over about the life of a request: with best-effort work, and as it would have been without. */
  readonly usualUs: number | undefined;
  readonly aloneUs: number | undefined;
  /** When a value of the pace came first, and last. */
  readonly sinceMs: number;
  readonly heardAtMs: number;
  /** First tokens a second: the mean of the last seconds. */
  readonly firstPerS: number;
  /** Requests that were told of, times between tokens, and in which time: of the last minutes. */
  readonly told: { readonly requests: number; readonly tokens: number; readonly ms: number };
  readonly toldAtMs: number;
  readonly queue: Queue;
  /** By kind: what requests take, in units of the pace. */
  readonly tails: Tails;
  /** With those of its first seconds, which count until enough others came. */
  readonly first: Tails;
  readonly reading: Reading;
  /** By kind: a factor of the tail, raised when values above its limit break a window, and lowered by those below while the limit is near. */
  readonly caution: Readonly<Partial<Record<RequestKind, number>>>;
  /** By kind: when values above their limit came that broke no window yet. */
  readonly lateAtMs: Readonly<Partial<Record<RequestKind, readonly number[]>>>;
}

export const noEngine: EngineMemory = {
  pace: undefined,
  recent: [],
  usualUs: undefined,
  aloneUs: undefined,
  sinceMs: Number.NaN,
  heardAtMs: Number.NEGATIVE_INFINITY,
  firstPerS: 0,
  told: { requests: 0, tokens: 0, ms: 0 },
  toldAtMs: Number.NEGATIVE_INFINITY,
  queue: { waiting: 0, latest: 0, atMs: Number.NEGATIVE_INFINITY },
  tails: {},
  first: {},
  reading: noReading,
  caution: {},
  lateAtMs: {},
};

/** Kinds that tell the pace, the quickest first. */
const paceKinds = ["itl", "tpot", "ttft", "e2e"] as const;
const SUDDEN = 1.25;
/** The pace is the mean of the values of so long a time. Tokens come by hundreds, requests one by one. */
const RECENT_MS = { itl: 1000, tpot: 4000, ttft: 8000, e2e: 8000 } as const;
/**
 * An engine's first requests compile kernels and capture graphs, so those that follow may be much shorter. The longer times
 * are told at the end of requests that began then.
 */
const WARM_UP_MS = { itl: 10_000, ttft: 10_000, tpot: 20_000, e2e: 20_000 } as const;
/** So many later ones tell enough, and those of the first seconds are forgotten. */
const ENOUGH = 16;
/** Until then the latest so many of all count, too: kernels may be compiled within seconds. */
const LATEST = 8;
/**
 * Until more is known: prompts, and whole requests, differ much in length. Times per token that come together are means of the same
 * steps.
 */
const USUAL: Readonly<Record<RequestKind, Usual>> = {
  ttft: { excess: 0.5, alike: false },
  e2e: { excess: 0.5, alike: false },
  itl: { excess: 0.5, alike: false },
  tpot: { excess: 0.05, alike: true },
};
/** A request's time per token is the mean of its whole life. `usual`: as long as nothing tells how long that is. */
const AGE_MS = { least: 500, usual: 4000, most: 8000 } as const;
/**
 * Requests are not distributed quite as the tail is told. A late one raises it by a tenth; while the tail is near the limit, each value
 * that is not late lowers it, so that in the end as many are late as may be.
 */
const CAUTION = {
  least: 0.85,
  most: 3,
  late: 1.1,
  informative: 0.9,
} as const;

interface Around {
  readonly nowMs: number;
  /** By which factor best-effort work makes the engine's steps longer. */
  readonly stretch: number;
  /** Bursts that ended since the last look. */
  readonly ended?: Uint32Array | undefined;
  readonly reads?: Reads | undefined;
}

export function withRequestsOf(
  was: EngineMemory,
  limits: RequestLimits,
  seen: RequestsSeen,
  { nowMs, stretch, ended, reads }: Around,
): EngineMemory {
  const pace = paceKinds.find((kind) => was.pace === kind || (seen?.[kind]?.values ?? 0) > 0);
  const told = pace === undefined ? undefined : seen?.[pace];
  if (!seen || pace === undefined) return was;
  const queued = withRate(pace === was.pace ? was : { ...noEngine, pace }, seen, nowMs);
  const reading = withReading(queued.reading, ended, reads, stretch);
  const begun = reading === queued.reading ? queued : { ...queued, reading };
  const slower = 1 + (stretch - 1) * slowedLife(begun.reading);
  const now = told ? withPace(begun, pace, told, { nowMs, stretch: slower }) : begun;
  if (now.usualUs === undefined || now.aloneUs === undefined) return now;
  const tails = { ...now.tails };
  const first = { ...now.first };
  let next = now;
  const before = new Map(pressures(now, limits));
  const shared = stretch > 1;
  for (const kind of statedKinds(limits)) {
    const { values = 0, above = 0, sumUs, each } = seen[kind] ?? {};
    if (values === 0) continue;
    if (sumUs !== undefined) {
      const { aloneUs, usualUs } = now;
      const slowed = {
        stretch: usualUs / aloneUs,
        part: slowedPart(now.reading, kind) / slowedLife(now.reading),
      };
      const steps = (us: number) => unslowed(us / aloneUs, slowed);
      const group = { values, mean: steps(sumUs / values), each: each?.map(steps) };
      const isFirst = nowMs - now.sinceMs < WARM_UP_MS[kind];
      if (!isFirst) tails[kind] = withValues(tails[kind] ?? noTail, group, USUAL[kind], nowMs);
      const enough = (tails[kind]?.groups.length ?? 0) >= ENOUGH;
      first[kind] = enough ? noTail : withValues(first[kind] ?? noTail, group, USUAL[kind], nowMs);
    }
    const limitUs = limits[kind] ?? 0;
    const late = each?.filter((us) => us > limitUs).length ?? above;
    // With other quantiles than the p99 many values are above the limit, and none of them tells anything.
    const informative =
      quantileOf(limits, kind) === "p99" &&
      shared &&
      (late > 0 || stretch * (before.get(kind) ?? 0) > CAUTION.informative);
    if (informative) next = withLate(next, kind, { values, late, nowMs });
  }
  return { ...next, tails, first };
}

interface Told {
  readonly values: number;
  /** Of these, above the limit. */
  readonly late: number;
  readonly nowMs: number;
}

/** Values of a kind came while they tell whether the tail is right. Several late ones at once have one cause. */
function withLate(
  was: EngineMemory,
  kind: RequestKind,
  { values, late, nowMs }: Told,
): EngineMemory {
  const lately = [
    ...(was.lateAtMs[kind] ?? []).filter((atMs) => nowMs - atMs < WINDOW_MS),
    ...Array.from({ length: late }, () => nowMs),
  ];
  const broken = lately.length >= tooManyLate(eachWindow(was) ?? 0);
  const factor = CAUTION.late ** ((broken ? 1 : 0) - lateOnes(was).late * (values - late));
  const caution = Math.min(
    CAUTION.most,
    Math.max(CAUTION.least, (was.caution[kind] ?? 1) * factor),
  );
  return {
    ...was,
    caution: { ...was.caution, [kind]: caution },
    lateAtMs: { ...was.lateAtMs, [kind]: broken ? [] : lately },
  };
}

/** Late requests, as a part of all. `usual`: while the rate is not known; that of 1.6 requests a second. */
const LATE = { least: 1 / 20_000, usual: 1 / 1600, most: 1 / 800, mostAlone: 1 / 400 } as const;

const RATE_MS = 8000;

function withRate(was: EngineMemory, seen: RequestsSeen, nowMs: number): EngineMemory {
  const { values = 0 } = seen?.ttft ?? {};
  const passedMs = Math.min(RATE_MS, nowMs - was.toldAtMs);
  const kept = Math.exp(-passedMs / RATE_MS);
  const firstPerS = kept * was.firstPerS + (1 - kept) * ((1000 * values) / passedMs);
  // What came before the first look came in an unknown time.
  const told = was.toldAtMs < 0 ? was.told : withTold(was.told, seen, passedMs);
  const queue = withWaiting(was.queue, seen?.waiting, nowMs);
  return { ...was, firstPerS, queue, told, toldAtMs: nowMs };
}

const QUEUE_MS = 1000;
/** So many that wait at one answer may have come together, and be on their way into the next step. A queue is still there at the next answer. */
const NO_QUEUE = 2;

function withWaiting(was: Queue, told: number | undefined, nowMs: number): Queue {
  if (told === undefined) return was;
  const stays = Math.exp(-(nowMs - was.atMs) / QUEUE_MS);
  const now = Math.max(Math.min(told, was.latest), told - NO_QUEUE);
  return { waiting: stays * was.waiting + (1 - stays) * now, latest: told, atMs: nowMs };
}

/** Half is forgotten after so long. */
const TOLD_MS = 120_000;
/** Each of these has a value for each request. */
const onceEach = ["ttft", "tpot", "e2e"] as const;

function withTold(
  { requests, tokens, ms }: EngineMemory["told"],
  seen: RequestsSeen,
  passedMs: number,
) {
  const more = Math.max(...onceEach.map((kind) => seen?.[kind]?.values ?? 0));
  const kept = ms > TOLD_MS ? 0.5 : 1;
  return {
    requests: kept * requests + more,
    tokens: kept * tokens + (seen?.itl?.values ?? 0),
    ms: kept * ms + passedMs,
  };
}

/** Requests in a window; undefined: too few were told of. */
const eachWindow = ({ told: { requests, ms } }: EngineMemory): number | undefined =>
  requests < ENOUGH ? undefined : (WINDOW_MS * requests) / ms;

/**
 * So large a part of the values may be late that would not be so without best-effort work: one in 1000 s if each breaks a window, and
 * more where they are late independently of each other.
 */
function lateOnes(engine: EngineMemory): Omit<Late, "limit"> {
  const each = eachWindow(engine);
  if (each === undefined) return { late: LATE.usual, lateAlone: LATE.usual };
  const allowed = (late: number, most: number) => Math.min(most, Math.max(LATE.least, late / each));
  return {
    late: allowed(LATE_WINDOWS, LATE.most),
    lateAlone: allowed(lateInWindow(each), LATE.mostAlone),
  };
}

function withPace(
  was: EngineMemory,
  pace: RequestKind,
  { values, sumUs = Number.NaN }: { readonly values: number; readonly sumUs?: number | undefined },
  { nowMs, stretch }: Around,
): EngineMemory {
  if (values === 0 || Number.isNaN(sumUs)) return was;
  const read = { atMs: nowMs, values, us: sumUs / stretch };
  const recent = [...was.recent, read].filter(({ atMs }) => nowMs - atMs < RECENT_MS[pace]);
  const ageMs = ageOf(was, pace);
  const weight = 1 - Math.exp(-Math.min(ageMs, nowMs - was.heardAtMs) / ageMs);
  const mixed = (before: number | undefined, now: number) =>
    before === undefined ? now : before + weight * (now - before);
  const mean = sumUs / values;
  const mixedUs = mixed(was.aloneUs, mean / stretch);
  const fall = fallen(pace, mixedUs, meanOf(recent));
  const usualUs = fall * mixed(was.usualUs, mean);
  const aloneUs = fall * mixedUs;
  const sinceMs = Number.isNaN(was.sinceMs) ? nowMs : was.sinceMs;
  return { ...was, recent, usualUs, aloneUs, sinceMs, heardAtMs: nowMs };
}

/** How old the steps are of which a request's time per token is told, in the mean: half as old as the request. */
function ageOf({ told: { requests, tokens }, usualUs }: EngineMemory, pace: RequestKind): number {
  if (pace !== "itl" || requests < ENOUGH || usualUs === undefined) return AGE_MS.usual;
  const lifeMs = ((tokens / requests) * usualUs) / 1000;
  return Math.min(AGE_MS.most, Math.max(AGE_MS.least, lifeMs / 2));
}

/**
 * By which factor the pace has fallen, where that counts at once: by more than a quarter, after an engine has compiled its kernels. Values of
 * other kinds than tokens differ from request to request.
 */
const fallen = (pace: RequestKind, meanUs: number, recentUs: number): number =>
  pace === "itl" ? Math.min(1, (SUDDEN * recentUs) / meanUs) : 1;

/** The pace without best-effort work. A rise by more than a quarter counts at once. */
function alonePaceUs({ recent, aloneUs }: EngineMemory): number | undefined {
  if (aloneUs === undefined) return undefined;
  return recent.length > 0 ? Math.max(aloneUs, meanOf(recent) / SUDDEN) : aloneUs;
}

function meanOf(reads: readonly Read[]): number {
  const [us, values] = reads.reduce(([us, n], read) => [us + read.us, n + read.values], [0, 0]);
  return us / values;
}

/** An engine whose requests wait for a part of the limit before it begins with them is full: it needs the whole GPU. */
const QUEUE = 2;

/** How long those that wait will have waited, by Little's law. */
const waitUs = ({ queue, firstPerS }: EngineMemory): number =>
  firstPerS > 0 ? (1e6 * queue.waiting) / firstPerS : 0;

/** In units of the pace. Those of the first seconds can only be longer than they will be, so the least of what several parts tell holds. */
function statedOf(
  { tails, first }: EngineMemory,
  kind: RequestKind,
  quantile: RequestQuantile,
  allowed: Late,
): number | undefined {
  const parts = [tails[kind], first[kind], latest(first[kind] ?? noTail, LATEST)];
  const known = parts.flatMap((tail = noTail) =>
    quantile === "p99"
      ? (tailOf(tail, USUAL[kind], allowed) ?? [])
      : (quantileOfTail(tail, USUAL[kind], quantile) ?? []),
  );
  return known.length > 0 ? Math.min(...known) : undefined;
}

/**
 * By kind: one part in how many its steps may get longer by best-effort work until nearly all values are just at the limit. Where
 * all of a value gets longer, that is the part of the limit that it takes without. Nearly all: as far as the stated quantile says.
 * undefined: not known yet.
 */
export function pressures(
  engine: EngineMemory,
  limits: RequestLimits,
): readonly (readonly [RequestKind, number | undefined])[] {
  const { caution } = engine;
  const paceUs = alonePaceUs(engine);
  const late = lateOnes(engine);
  return statedKinds(limits).map((kind) => {
    const limitUs = limits[kind] ?? 0;
    const quantile = quantileOf(limits, kind);
    const tail = paceUs && statedOf(engine, kind, quantile, { limit: limitUs / paceUs, ...late });
    const known = paceUs !== undefined && tail !== undefined;
    if (!known) return [kind, undefined] as const;
    const queue = kind === "ttft" ? (waitUs(engine) * QUEUE) / limitUs : 0;
    const steps = tail * (caution[kind] ?? 1);
    const used = (paceUs * steps) / limitUs;
    return [
      kind,
      Math.max(queue, 1 / mostStretch(used, slowedOf(engine.reading, kind, steps))),
    ] as const;
  });
}
