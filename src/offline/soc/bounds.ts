// Lower bounds on the remaining cost. They come from tables that are made once, so a node of the search costs a few
// lookups.
//
// Way: what a network still needs by itself, without contention, with the cheapest accelerators and transitions.
//
// Load: every group on every accelerator gets a price per millisecond of its work. Prices are chosen such that whatever
// runs at one moment earns at most 1 per millisecond, with contention. For each pair that can meet:
//   price(g) / slowdown(g beside h) + price(h) / slowdown(h beside g) <= 1.
// Then the price of all remaining work, by the cheapest assignment, is at most the time that the work takes. Prices of
// 1/2 on each of two accelerators mean "half of the total load". Contention allows higher prices, because a group that
// is slowed down earns less in a millisecond. Prices are a dual solution of the relaxation in which groups may be cut
// and reordered. Several sets of prices are kept, and each node uses the best of them.
import type { Flat } from "./flat.ts";

/** Prices for each group on an accelerator, and for each network while it moves between accelerators. */
interface Prices {
  readonly work: Float64Array;
  readonly moving: Float64Array;
}

/** The least cost from a group to the network's end, by the accelerator before it and the transitions left. */
export interface ToGo {
  readonly prices: Prices;
  /** Indexed by `slot`. */
  readonly table: Float64Array;
}

export interface Bounds {
  /** All its prices are 1. */
  readonly way: ToGo;
  readonly loads: readonly ToGo[];
  /** The least energy that a group and all after it in its network need; indexed by `slot`. */
  readonly energy: ToGo;
  /** A table distinguishes 0 to this many transitions. */
  readonly levels: number;
}

/** The index in a table for what remains from `group` on, after `accelerator` (-1: the group is the first). */
export const slot = (
  flat: Flat,
  levels: number,
  group: number,
  accelerator: number,
  left: number,
): number =>
  (group * (flat.accelerators + 1) + accelerator + 1) * levels + Math.min(left, levels - 1);

export function bounds(flat: Flat): Bounds {
  const levels = Math.max(...flat.transitions) + 1;
  const all = flat.timeMs.length;
  const ones = (length: number) => new Float64Array(length).fill(1);
  const toGo = (prices: Prices, each = flat.timeMs): ToGo => ({
    prices,
    table: remaining(flat, levels, prices, each),
  });
  const none = { work: ones(all), moving: new Float64Array(flat.networks) };
  const neighbours = meet(flat);
  return {
    levels,
    way: toGo({ work: ones(all), moving: ones(flat.networks) }),
    energy: toGo(
      none,
      flat.energyMj.map((one, at) => (Number.isFinite(flat.timeMs[at]) ? one : Infinity)),
    ),
    loads: mostTelling(
      flat,
      levels,
      weightings(flat.accelerators).map((weights) => toGo(pricesFrom(flat, neighbours, weights))),
    ),
  };
}

/**
 * Computed backwards over each network's groups: the cheapest way on, for every accelerator before and every number of
 * transitions left.
 */
function remaining(flat: Flat, levels: number, prices: Prices, each: Float64Array): Float64Array {
  const { accelerators, first } = flat;
  const table = new Float64Array(((first.at(-1) ?? 0) + 1) * (accelerators + 1) * levels);
  for (let n = 0; n < flat.networks; n++) {
    const begin = first[n] ?? 0;
    const end = first[n + 1] ?? 0;
    for (let group = end - 1; group >= begin; group--)
      for (let before = -1; before < accelerators; before++)
        for (let left = 0; left < levels; left++) {
          let least = Infinity;
          for (let a = 0; a < accelerators; a++) {
            const changes = group > begin && before >= 0 && a !== before;
            if (changes && left === 0) continue;
            const at = group * accelerators + a;
            const then =
              group + 1 < end
                ? (table[slot(flat, levels, group + 1, a, left - (changes ? 1 : 0))] ?? 0)
                : 0;
            const move =
              changes && flat.inputs[group]?.includes(group - 1)
                ? (flat.outMs[(group - 1) * accelerators + before] ?? 0) + (flat.inMs[at] ?? 0)
                : 0;
            const here = (prices.work[at] ?? 0) * (each[at] ?? 0);
            least = Math.min(least, here + (prices.moving[n] ?? 0) * move + then);
          }
          table[slot(flat, levels, group, before, left)] = least;
        }
  }
  return table;
}

/** By number of accelerators: into how many parts the weights divide 1. */
const GRAIN = [0, 1, 40, 12, 9];

/**
 * Weights of the accelerators that sum to 1. They are enumerated, because it is not known beforehand which accelerators
 * are scarce.
 */
function weightings(accelerators: number): number[][] {
  const grain = GRAIN[accelerators] ?? accelerators + 2;
  const parts = (count: number, total: number): number[][] =>
    count === 1
      ? [[total]]
      : Array.from({ length: total - count + 1 }, (_, i) => i + 1).flatMap((one) =>
          parts(count - 1, total - one).map((others) => [one, ...others]),
        );
  return parts(accelerators, grain).map((one) => one.map((part) => part / grain));
}

/** The number of price sets kept for the search. More sets give better bounds and cost time at each node. */
const KEPT = 6;
/** The parts of the networks that remain, at which price sets are compared. */
const SUFFIXES = [0, 0.25, 0.5, 0.75, 1];

/** The price sets that together give the best bounds at the start and at moments spread over the search. */
function mostTelling(flat: Flat, levels: number, all: readonly ToGo[]): ToGo[] {
  const suffixes = flat.problem.networks.map((_, n) => {
    const begin = flat.first[n] ?? 0;
    const length = (flat.first[n + 1] ?? 0) - begin;
    return SUFFIXES.map((part) => Math.floor(part * length)).map((at) =>
      at === length ? -1 : begin + at,
    );
  });
  const sum = ({ table }: ToGo, pick: number) =>
    suffixes.reduce((total, groups, n) => {
      const group = groups[Math.floor(pick / SUFFIXES.length ** n) % SUFFIXES.length] ?? -1;
      const value = group < 0 ? 0 : (table[slot(flat, levels, group, -1, levels - 1)] ?? 0);
      // If nothing satisfies the limits, all prices give the same bound.
      return total + (value === Infinity ? 0 : value);
    }, 0);
  // With many networks, only a sample of the combinations is used.
  const combinations = SUFFIXES.length ** flat.networks;
  const stride = Math.max(1, Math.floor(combinations / 125));
  const picks = Array.from({ length: Math.min(125, combinations) }, (_, i) => i * stride);
  const values = all.map((one) => picks.map((pick) => sum(one, pick)));
  const best = picks.map(() => 0);
  const kept: ToGo[] = [];
  while (kept.length < KEPT) {
    const gains = values.map((value) =>
      value.reduce((gain, one, i) => gain + Math.max(0, one - (best[i] ?? 0)), 0),
    );
    const most = Math.max(...gains);
    if (most === 0) break;
    const chosen = gains.indexOf(most);
    for (const [i, one] of (values[chosen] ?? []).entries()) best[i] = Math.max(best[i] ?? 0, one);
    kept.push(...all.slice(chosen, chosen + 1));
  }
  return kept;
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

/**
 * Makes prices from weights of accelerators. Each price is its weight times the least slowdown that any neighbours
 * cause. That keeps every set of concurrent groups within 1, because slowdown never falls with more neighbours. With
 * two accelerators at most two groups run at once, so each price is then raised as far as its pairs allow.
 */
function pricesFrom(
  flat: Flat,
  neighbours: readonly (readonly Pair[])[],
  weights: readonly number[],
) {
  const { accelerators } = flat;
  const work = Float64Array.from(neighbours, (pairs, at) => {
    if (pairs.length === 0 || weights[at % accelerators] === 0) return 0;
    const least = pairs.reduce((least, { own }) => Math.min(least, own), Infinity);
    return Math.min(1, (weights[at % accelerators] ?? 0) * least);
  });
  for (const [at, pairs] of neighbours.entries()) if (pairs.length === 0) work[at] = 1;
  const moving = new Float64Array(flat.networks);
  if (accelerators === 2) {
    // Raised in small steps, so that the groups share the room.
    for (let sweep = 0; sweep < 12; sweep++)
      for (const [at, pairs] of neighbours.entries()) {
        const room = pairs.reduce(
          (room, { other, own, others }) => Math.min(room, own * (1 - (work[other] ?? 0) / others)),
          1,
        );
        const price = work[at] ?? 0;
        if (room > price) work[at] = price + (room - price) * (sweep < 11 ? 0.3 : 1);
      }
    // With two networks, at most one other works while a network moves.
    if (flat.networks === 2) {
      const [, second = 0, end = 0] = flat.first;
      const most = (from: number, to: number) =>
        work.subarray(from * accelerators, to * accelerators).reduce((a, b) => Math.max(a, b), 0);
      moving[0] = flat.together[1] ? 1 - most(second, end) : 1;
      moving[1] = flat.together[1] ? 1 - most(0, second) : 1;
    }
  }
  return { work, moving };
}
