// Lower bounds on the remaining cost. They come from tables that are made once, so a node of the search costs a few
// lookups.
//
// Way: what a network still needs by itself, without contention, with the cheapest accelerators and transitions.
//
// Load: every group on every accelerator gets a price per millisecond of its work. Prices are chosen such that whatever
// runs at one moment earns at most 1 per millisecond, with contention. For each pair that can meet:
//   price(g) / slowdown(g beside h) + price(h) / slowdown(h beside g) <= 1
// and likewise for triples on three accelerators.
// Then the price of all remaining work, by the cheapest assignment, is at most the time that the work takes. Prices of
// 1/2 on each of two accelerators mean "half of the total load". Contention allows higher prices, because a group that
// is slowed down earns less in a millisecond. Prices are a dual solution of the relaxation in which groups may be cut
// and reordered. Several sets of prices are kept, and each node uses the best of them.
import type { Flat } from "./flat.ts";
import { ascend, meetings, type Prices, pricesFrom, weightings } from "./prices.ts";

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
  const met = meetings(flat);
  const sets = weightings(flat.accelerators).map((weights) => toGo(pricesFrom(flat, met, weights)));
  const whole = (one: ToGo) => wholeSum(flat, levels, one);
  const best = sets.reduce((most, one) => (whole(one) > whole(most) ? one : most));
  const better =
    met.complete && Number.isFinite(whole(best))
      ? [
          toGo(
            ascend(flat, met, best.prices, (prices) => {
              const one = toGo(prices);
              return { bound: whole(one), onWay: onCheapestWays(flat, levels, one) };
            }),
          ),
        ]
      : [];
  return {
    levels,
    way: toGo({ work: ones(all), moving: ones(flat.networks) }),
    energy: toGo(
      none,
      flat.energyMj.map((one, at) => (Number.isFinite(flat.timeMs[at]) ? one : Infinity)),
    ),
    loads: mostTelling(flat, levels, [...better, ...sets]),
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
          for (let a = 0; a < accelerators; a++)
            least = Math.min(
              least,
              costOf(flat, levels, prices, { n, begin, end, group, before, left, a }, each, table),
            );
          table[slot(flat, levels, group, before, left)] = least;
        }
  }
  return table;
}

interface Choice {
  readonly n: number;
  readonly begin: number;
  readonly end: number;
  readonly group: number;
  /** The accelerator before, and the transitions left. */
  readonly before: number;
  readonly left: number;
  readonly a: number;
}

/** Cost of a group on accelerator `a` and all after it, by the table of the groups after it. */
function costOf(
  flat: Flat,
  levels: number,
  prices: Prices,
  { n, begin, end, group, before, left, a }: Choice,
  each: Float64Array,
  table: Float64Array,
): number {
  const { accelerators } = flat;
  const changes = group > begin && before >= 0 && a !== before;
  if (changes && left === 0) return Infinity;
  const at = group * accelerators + a;
  const then =
    group + 1 < end ? (table[slot(flat, levels, group + 1, a, left - (changes ? 1 : 0))] ?? 0) : 0;
  const move =
    changes && flat.inputs[group]?.includes(group - 1)
      ? (flat.outMs[(group - 1) * accelerators + before] ?? 0) + (flat.inMs[at] ?? 0)
      : 0;
  const here = (prices.work[at] ?? 0) * (each[at] ?? 0);
  return here + (prices.moving[n] ?? 0) * move + then;
}

/** The price of all work. */
const wholeSum = (flat: Flat, levels: number, { table }: ToGo): number =>
  flat.first
    .slice(0, -1)
    .reduce((sum, group) => sum + (table[slot(flat, levels, group, -1, levels - 1)] ?? 0), 0);

/** For each group on an accelerator its time if it is on the cheapest way of its network, else 0. */
function onCheapestWays(flat: Flat, levels: number, { prices, table }: ToGo): Float64Array {
  const { accelerators, first, timeMs } = flat;
  const found = new Float64Array(timeMs.length);
  for (let n = 0; n < flat.networks; n++) {
    let [before, left] = [-1, levels - 1];
    const [begin = 0, end = 0] = [first[n], first[n + 1]];
    for (let group = begin; group < end; group++) {
      const costs = Array.from({ length: accelerators }, (_, a) =>
        costOf(flat, levels, prices, { n, begin, end, group, before, left, a }, timeMs, table),
      );
      const a = costs.indexOf(Math.min(...costs));
      found[group * accelerators + a] = timeMs[group * accelerators + a] ?? 0;
      if (before >= 0 && a !== before) left--;
      before = a;
    }
  }
  return found;
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
