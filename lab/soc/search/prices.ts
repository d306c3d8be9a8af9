// The price sets from which bounds.ts makes its tables.
import type { Flat } from "./flat.ts";

/** Prices for each group on an accelerator, and for each network while it moves between accelerators. */
export interface Prices {
  readonly work: Float64Array;
  readonly moving: Float64Array;
}

/** By number of accelerators: into how many parts the weights divide 1. */
const GRAIN = [0, 1, 40, 12, 9];

/**
 * Weights of the accelerators that sum to 1. They are enumerated, because it is not known beforehand which accelerators
 * are scarce.
 */
export function weightings(accelerators: number): number[][] {
  const grain = GRAIN[accelerators] ?? accelerators + 2;
  const parts = (count: number, total: number): number[][] =>
    count === 1
      ? [[total]]
      : Array.from({ length: total - count + 1 }, (_, i) => i + 1).flatMap((one) =>
          parts(count - 1, total - one).map((others) => [one, ...others]),
        );
  return parts(accelerators, grain).map((one) => one.map((part) => part / grain));
}

interface Pair {
  readonly other: number;
  /** The slowdown of this group beside the other, and of the other beside this one. */
  readonly own: number;
  readonly others: number;
}

/** For each group on an accelerator, all groups that can run on another accelerator at the same moment. */
function meet(flat: Flat): Pair[][] {
  const { accelerators, first, problem, demand, timeMs } = flat;
  const owner = first.slice(1).flatMap((end, n) => Array<number>(end - (first[n] ?? 0)).fill(n));
  const slowdown = (g: number, h: number) =>
    problem.accelerators[g % accelerators]?.slowdown(demand[g] ?? 0, demand[h] ?? 0) ?? 1;
  const runs = [...timeMs.keys()].filter((at) => Number.isFinite(timeMs[at]));
  const pairs: Pair[][] = Array.from(timeMs, () => []);
  for (const g of runs)
    for (const h of runs) {
      const n = owner[Math.floor(g / accelerators)] ?? 0;
      const m = owner[Math.floor(h / accelerators)] ?? 0;
      if (flat.together[n * flat.networks + m] && g % accelerators !== h % accelerators)
        pairs[g]?.push({ other: h, own: slowdown(g, h), others: slowdown(h, g) });
    }
  return pairs;
}

/** A group beside two others, all on different accelerators; as in Pair. */
interface Triple {
  readonly other: number;
  readonly third: number;
  readonly own: number;
  readonly others: number;
  readonly thirds: number;
}

/** With more triples than this, finding prices would take longer than it saves. */
const MAX_TRIPLES = 200_000;

/** For each group on one of three accelerators, all triples with it; undefined: other accelerators, or too many. */
function meetInThrees(flat: Flat, pairs: readonly (readonly Pair[])[]): Triple[][] | undefined {
  const { accelerators, problem, demand } = flat;
  if (accelerators !== 3) return undefined;
  const partners = pairs.map((all) => new Set(all.map(({ other }) => other)));
  const slowdown = (g: number, h: number, k: number) =>
    problem.accelerators[g % accelerators]?.slowdown(
      demand[g] ?? 0,
      (demand[h] ?? 0) + (demand[k] ?? 0),
    ) ?? 1;
  let count = 0;
  const found: Triple[][] = [];
  for (const [g, all] of pairs.entries()) {
    const own: Triple[] = [];
    for (const { other: h } of all)
      for (const { other: k } of all)
        if (h < k && partners[h]?.has(k))
          own.push({
            other: h,
            third: k,
            own: slowdown(g, h, k),
            others: slowdown(h, g, k),
            thirds: slowdown(k, g, h),
          });
    count += own.length;
    if (count > MAX_TRIPLES) return undefined;
    found.push(own);
  }
  return found;
}

export interface Meetings {
  readonly pairs: readonly (readonly Pair[])[];
  readonly triples: readonly (readonly Triple[])[] | undefined;
  /** Whether pairs, and triples if there are any, are all that can run at once. */
  readonly complete: boolean;
}

export function meetings(flat: Flat): Meetings {
  const pairs = meet(flat);
  const triples = meetInThrees(flat, pairs);
  return { pairs, triples, complete: flat.accelerators === 2 || triples !== undefined };
}

/** The highest price that a group may have beside the prices of all that it can meet; at most 1. */
function room({ pairs, triples }: Meetings, work: Float64Array, at: number): number {
  let room = 1;
  for (const { other, own, others } of pairs[at] ?? [])
    room = Math.min(room, own * (1 - (work[other] as number) / others));
  for (const { other, third, own, others, thirds } of triples?.[at] ?? [])
    room = Math.min(
      room,
      own * (1 - (work[other] as number) / others - (work[third] as number) / thirds),
    );
  return Math.max(0, room);
}

/**
 * Makes prices from weights of accelerators. Each price is its weight times the least slowdown that any neighbours
 * cause. That keeps every set of concurrent groups within 1, because slowdown never falls with more neighbours. With
 * two or three accelerators at most this many groups run at once, so each price is then raised as far as its pairs and
 * triples allow.
 */
export function pricesFrom(flat: Flat, met: Meetings, weights: readonly number[]): Prices {
  const { accelerators } = flat;
  const work = Float64Array.from(met.pairs, (pairs, at) => {
    if (pairs.length === 0) return 1;
    const least = pairs.reduce((least, { own }) => Math.min(least, own), Infinity);
    return Math.min(1, (weights[at % accelerators] ?? 0) * least);
  });
  if (met.complete) raise(met, work);
  return { work, moving: whileMoving(flat, work) };
}

const SWEEPS = 12;

/** In small steps, so that the groups share the room. */
function raise(met: Meetings, work: Float64Array): void {
  for (let sweep = 0; sweep < SWEEPS; sweep++)
    for (let at = 0; at < work.length; at++) {
      const price = work[at] as number;
      const most = room(met, work, at);
      if (most > price) work[at] = price + (most - price) * (sweep < SWEEPS - 1 ? 0.3 : 1);
    }
}

/** With two networks on two accelerators, at most one other works while a network moves. */
function whileMoving({ accelerators, networks, first, together }: Flat, work: Float64Array) {
  const moving = new Float64Array(networks);
  if (accelerators !== 2 || networks !== 2) return moving;
  const [, second = 0, end = 0] = first;
  const most = (from: number, to: number) =>
    work.subarray(from * accelerators, to * accelerators).reduce((a, b) => Math.max(a, b), 0);
  moving[0] = together[1] ? 1 - most(second, end) : 1;
  moving[1] = together[1] ? 1 - most(0, second) : 1;
  return moving;
}

const ROUNDS = 150;
/** The longest step of the first round; a price is between 0 and 1. */
const FIRST_STEP = 0.15;

/**
 * Better prices by subgradient ascent: those of the groups on the cheapest ways rise in proportion to their times, then
 * all are cut to what their pairs and triples allow, first the groups that were on the cheapest ways least often.
 * `evaluate` returns the bound at given prices, and the work of each group on the cheapest ways in ms.
 */
export function ascend(
  flat: Flat,
  met: Meetings,
  from: Prices,
  evaluate: (prices: Prices) => { readonly bound: number; readonly onWay: Float64Array },
): Prices {
  let [best, most] = [from, evaluate(from).bound];
  let current = from;
  const often = new Float64Array(from.work.length);
  for (let round = 0; round < ROUNDS; round++) {
    const { onWay } = evaluate(current);
    const longest = onWay.reduce((a, b) => Math.max(a, b), 0);
    if (longest <= 0) break;
    const step = FIRST_STEP / longest / (1 + round / 8);
    const work = current.work.map((price, at) => price + step * (onWay[at] as number));
    onWay.forEach((ms, at) => {
      often[at] = 0.9 * (often[at] as number) + ms;
    });
    const rarestFirst = [...work.keys()].sort((a, b) => (often[a] ?? 0) - (often[b] ?? 0));
    for (const at of rarestFirst) work[at] = Math.min(work[at] as number, room(met, work, at));
    for (const at of rarestFirst.reverse())
      work[at] = Math.max(work[at] as number, room(met, work, at));
    current = { work, moving: whileMoving(flat, work) };
    const { bound } = evaluate(current);
    if (bound > most) [best, most] = [current, bound];
  }
  return best;
}
