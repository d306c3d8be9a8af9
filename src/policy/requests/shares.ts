// Beside engines whose objectives are about requests alone, best-effort work gets a share of the time of each request. Its
// levels differ by a tenth, and one is chosen by what the engines' requests take at present (engine.ts): a share makes a
// step of the engine longer by a known factor, at once. So the share follows the engine's load, up and down.
import { type Rules, rules } from "#protocol";
import type { SeenHigh } from "../policy.ts";
import { type EngineMemory, pressures } from "./engine.ts";
import type { Reads } from "./reading.ts";
import type { RequestKind, RequestLimits } from "./requests.ts";

const LEAST = 0.03;
const RATIO = 1.1;
/** Up to a half, which is what the driver's time slices give. */
export const shares: readonly number[] = Array.from({ length: 30 }, (_, i) => LEAST * RATIO ** i);
const MOST = (shares.at(-1) ?? LEAST) * RATIO;

/** How long best-effort work goes on at a time: as long as a time slice of the driver, which costs two changes of contexts. */
export const SLICE_US = { isolated: 2000, mps: 400 } as const;

/** The rules that give best-effort work a share of the time beside requests. */
export function timeShare(share: number, isolated: boolean) {
  const besideUs = isolated ? SLICE_US.isolated : SLICE_US.mps;
  return { besideUs, besideEveryUs: Math.round(besideUs / share) };
}

/** A step without a prompt in it is no longer than its usual length by this factor. */
const STEP = 1.15;

/**
 * A step with a prompt in it is longer than the others, and where these replay a graph, it launches much more. Beside the rest of it
 * best-effort work waits: so first tokens, which leave the least room, come hardly later, and tokens as much as the share says. 0:
 * nothing is known of the steps.
 */
export function besideUntil(
  high: readonly SeenHigh[],
): Pick<Rules, "besideUntilUs" | "besideUntilLaunches"> {
  const steps = high.map(({ burstP50Us, burstByTimeUs = burstP50Us }) => burstByTimeUs ?? 0);
  const shortest = steps.length > 0 ? Math.min(...steps) : 0;
  const rare = high.flatMap(({ rareBursts }) => rareBursts?.afterLaunches ?? []);
  return {
    besideUntilUs: Math.round(Math.min(rules.besideUntilUs.most, STEP * shortest)),
    besideUntilLaunches: rare.length > 0 && rare.length === high.length ? Math.max(...rare) : 0,
  };
}

/** Of the steps of one of the clients that have prompts in them. `high`: all of them. */
export function readsBeside(client: SeenHigh, high: readonly SeenHigh[]): Reads {
  const fromUs = besideUntil([client]).besideUntilUs;
  const { afterLaunches, afterUs } = client.rareBursts ?? { afterLaunches: 1, afterUs: 0 };
  const launchingUs = (afterUs * besideUntil(high).besideUntilLaunches) / afterLaunches;
  return { fromUs, besideUs: launchingUs > 0 ? Math.min(fromUs, launchingUs) : fromUs };
}

/** So much of the limit stays unused, in logarithms: the pace varies within a second. */
const MARGIN = 0.1;
/** Steps of the engine may get longer by this factor in a second. They get shorter at once. */
const UP_PER_S = 1.08;
/** A share costs this much more than the time it gives: two changes of contexts of 140 us for 2 ms. */
const COST = { isolated: 1.14, mps: 1 } as const;
/** Time without an answer counts as no more than this, in s. */
const LONGEST_S = 1;

interface Engine {
  readonly engine: EngineMemory;
  readonly limits: RequestLimits;
}

/** The level for a share: 0 is `strict`. */
export const levelOf = (share: number): number =>
  share >= MOST * 0.999
    ? shares.length + 1
    : shares.findLastIndex((one) => one <= share * 1.001) + 1;

/** What leaves the least room. `pressure`: the part of its limit that it takes without best-effort work. */
export interface Tightest {
  readonly kind: RequestKind;
  readonly pressure: number;
}

/** Of an engine; undefined if one of the kinds is not known. */
export function tightestOf({ engine, limits }: Engine): Tightest | undefined {
  let tightest: Tightest | undefined;
  for (const [kind, pressure] of pressures(engine, limits)) {
    if (pressure === undefined) return undefined;
    if (!tightest || pressure > tightest.pressure) tightest = { kind, pressure };
  }
  return tightest;
}

/** Of several engines; undefined if that of one is not known. */
export function largestPressure(all: readonly (Tightest | undefined)[]): number | undefined {
  const known = all.filter((one) => one !== undefined);
  return known.length < all.length || all.length === 0
    ? undefined
    : Math.max(...known.map(({ pressure }) => pressure));
}

const costOf = (isolated: boolean) => (isolated ? COST.isolated : COST.mps);

/** By which factor a share makes an engine's steps longer. */
export const stretchOf = (share: number, isolated: boolean): number =>
  1 / (1 - costOf(isolated) * share);

/** The share that follows, `seconds` after the last answer. `pressure`: without best-effort work. */
export function nextShare(
  share: number,
  pressure: number | undefined,
  seconds: number,
  isolated: boolean,
): number {
  if (pressure === undefined) return share;
  const passed = Math.min(LONGEST_S, seconds);
  const most = stretchOf(share, isolated) * UP_PER_S ** passed;
  const stretch = Math.min(most, Math.exp(-MARGIN) / pressure);
  const next = Math.min(MOST, (1 - 1 / stretch) / costOf(isolated));
  if (next >= LEAST) return next;
  // With the least share it is begun as soon as there is room for it.
  return Math.exp(-MARGIN) / pressure > stretchOf(LEAST, isolated) ? LEAST : 0;
}
