// The timeline's rule again, in the form that the search needs: from a state to the next decision, in flat arrays, in a
// few dozen nanoseconds an event. It must do the same as `timeline`; tests compare the two.

import type { Problem } from "../problem/types.ts";
import { type Bounds, slot, type ToGo } from "./bounds.ts";
import type { Flat } from "./flat.ts";
import { cost, withinBudget } from "./objective.ts";
import { SAME_MOMENT_MS } from "./timeline.ts";

/** The stage of a network. It is … */
const BLOCKED = 0; // until its predecessors are done
const DECIDING = 1; // until its next group has an accelerator
const MOVING = 2;
const WAITING = 3;
const RUNNING = 4;
const DONE = 5;

// The fields of a network in a state.
const STAGE = 0;
const GROUP = 1; // as Flat numbers them
const ON = 2; // its accelerator
const LEFT = 3; // of the transition or the group, ms
const BUDGET = 4; // transitions left
const END = 5;
const FIELDS = 6;

/**
 * The state at one moment: the time, the energy of all assigned groups, FIELDS for each network, and for each
 * accelerator and network a mask of the networks that it goes before. `assigned` has the accelerator of each group
 * decided so far.
 */
export interface State {
  readonly numbers: Float64Array;
  readonly assigned: Int8Array;
  /** A lower bound on the whole cost, as `Walk.run` left it. */
  bound: number;
}

const TIME = 0;
const ENERGY = 1;
const NETWORKS = 2;

/** The next decision. */
export type Decision =
  | { readonly kind: "assign"; readonly network: number; readonly options: readonly number[] }
  | { readonly kind: "first"; readonly accelerator: number; readonly options: readonly number[] };

export interface Walk {
  start(): State;
  copy(from: State, to: State): void;
  assign(state: State, network: number, accelerator: number): void;
  /** Among those that wait for `accelerator`, `network` goes first, now and later. */
  putFirst(state: State, accelerator: number, network: number): void;
  /** Runs to the next decision. Returns "done" at the end, and "cut" when the bound reaches `limit`. */
  run(state: State, limit: number): Decision | "done" | "cut";
  /** The networks in an order of priority that agrees with the decisions. */
  priority(state: State): number[][];
}

export function walk(flat: Flat, bounds: Bounds): Walk {
  const { networks, accelerators, problem } = flat;
  const { objective, energyBudgetMj } = problem;
  const precedes = NETWORKS + FIELDS * networks;
  const size = precedes + accelerators * networks;
  const groups = flat.first[networks] ?? 0;
  const twin = twins(flat);
  const ends: number[] = problem.networks.map(() => 0);
  const shares = new Float64Array(networks);
  const running = new Int32Array(networks);
  const slow = new Float64Array(networks);
  const { levels } = bounds;
  // Results of `look` for each network.
  const here = new Int32Array(networks);
  const work = new Float64Array(networks);
  const move = new Float64Array(networks);
  const then = new Int32Array(networks);
  /** The index at which all tables have 0: behind the last group. */
  const nothing = slot(flat, levels, groups, -1, 0);
  const order = inOrder(problem);

  const at = (n: number) => NETWORKS + FIELDS * n;
  const field = (x: Float64Array, n: number, name: number) => x[at(n) + name] ?? 0;
  const last = (n: number) => flat.first[n + 1] ?? 0;

  function begin(x: Float64Array, n: number) {
    x[at(n) + STAGE] = DECIDING;
    x[at(n) + GROUP] = flat.first[n] ?? 0;
    x[at(n) + ON] = -1;
  }

  /** Begins networks whose predecessors are done. One pass is enough, because nothing ends at once. */
  function release(x: Float64Array) {
    for (let n = 0; n < networks; n++)
      if (
        field(x, n, STAGE) === BLOCKED &&
        (problem.networks[n]?.after ?? []).every((m) => field(x, m, STAGE) === DONE)
      )
        begin(x, n);
  }

  const free = (x: Float64Array, a: number) => {
    for (let n = 0; n < networks; n++)
      if (field(x, n, STAGE) === RUNNING && field(x, n, ON) === a) return false;
    return true;
  };

  function launch(x: Float64Array, n: number) {
    x[at(n) + STAGE] = RUNNING;
    x[at(n) + LEFT] = flat.timeMs[field(x, n, GROUP) * accelerators + field(x, n, ON)] ?? 0;
  }

  function assign(state: State, n: number, a: number) {
    const { numbers: x, assigned } = state;
    const group = field(x, n, GROUP);
    const before = field(x, n, ON);
    let move = 0;
    for (const input of flat.inputs[group] ?? []) {
      const from = assigned[input] ?? 0;
      if (from !== a) move += flat.outMs[input * accelerators + from] ?? 0;
    }
    if ((flat.inputs[group] ?? []).some((input) => assigned[input] !== a))
      move += flat.inMs[group * accelerators + a] ?? 0;
    assigned[group] = a;
    x[ENERGY] = (x[ENERGY] ?? 0) + (flat.energyMj[group * accelerators + a] ?? 0);
    if (before >= 0 && before !== a) x[at(n) + BUDGET] = field(x, n, BUDGET) - 1;
    x[at(n) + ON] = a;
    x[at(n) + LEFT] = move;
    x[at(n) + STAGE] = move < SAME_MOMENT_MS ? WAITING : MOVING;
  }

  /** The accelerators that the next group of `n` may have. */
  function options(state: State, n: number): number[] {
    const x = state.numbers;
    const group = field(x, n, GROUP);
    const before = field(x, n, ON);
    const found: number[] = [];
    for (let a = 0; a < accelerators; a++) {
      if (before >= 0 && a !== before && field(x, n, BUDGET) === 0) continue;
      if (!Number.isFinite(flat.timeMs[group * accelerators + a])) continue;
      // If two networks are equal, the later one gets no lower accelerator than the earlier one, because exchanging
      // them changes nothing.
      const other = twin[n] ?? -1;
      if (before < 0 && other >= 0 && a < (state.assigned[flat.first[other] ?? 0] ?? 0)) continue;
      found.push(a);
    }
    return found;
  }

  function putFirst(state: State, a: number, first: number) {
    const { numbers: x } = state;
    let behind = 0;
    for (let n = 0; n < networks; n++)
      if (n !== first && field(x, n, STAGE) === WAITING && field(x, n, ON) === a)
        behind |= (1 << n) | (x[precedes + a * networks + n] ?? 0);
    for (let n = 0; n < networks; n++) {
      const mask = x[precedes + a * networks + n] ?? 0;
      if (n === first || mask & (1 << first)) x[precedes + a * networks + n] = mask | behind;
    }
    launch(x, first);
  }

  /** Starts what may start. Returns a decision if several could go first. */
  function dispatch(state: State): Decision | undefined {
    const x = state.numbers;
    for (let a = 0; a < accelerators; a++) {
      let waiting = 0;
      let count = 0;
      let any = 0;
      for (let n = 0; n < networks; n++)
        if (field(x, n, STAGE) === WAITING && field(x, n, ON) === a) {
          waiting |= 1 << n;
          count++;
          any = n;
        }
      if (count === 0 || !free(x, a)) continue;
      if (count === 1) {
        launch(x, any);
        continue;
      }
      const candidates: number[] = [];
      for (let n = 0; n < networks; n++) {
        if (!(waiting & (1 << n))) continue;
        let beaten = false;
        for (let m = 0; m < networks; m++)
          if (waiting & (1 << m) && (x[precedes + a * networks + m] ?? 0) & (1 << n)) beaten = true;
        const other = twin[n] ?? -1;
        if (x[TIME] === 0 && other >= 0 && waiting & (1 << other)) beaten = true;
        if (!beaten) candidates.push(n);
      }
      if (candidates.length > 1) return { kind: "first", accelerator: a, options: candidates };
      putFirst(state, a, candidates[0] ?? any);
    }
    return undefined;
  }

  /** Moves to the next moment at which something ends, arrives or frees its accelerator. */
  function step(x: Float64Array) {
    let count = 0;
    let total = 0;
    for (let n = 0; n < networks; n++)
      if (field(x, n, STAGE) === RUNNING) {
        running[count++] = n;
        total += flat.demand[field(x, n, GROUP) * accelerators + field(x, n, ON)] ?? 0;
      }
    let span = Infinity;
    for (let i = 0; i < count; i++) {
      const n = running[i] ?? 0;
      const a = field(x, n, ON);
      const here = field(x, n, GROUP) * accelerators + a;
      const own = flat.demand[here] ?? 0;
      const factor = count === 1 ? 1 : (problem.accelerators[a]?.slowdown(own, total - own) ?? 1);
      slow[i] = factor;
      span = Math.min(span, field(x, n, LEFT) * factor);
    }
    for (let n = 0; n < networks; n++)
      if (field(x, n, STAGE) === MOVING) span = Math.min(span, field(x, n, LEFT));
    x[TIME] = (x[TIME] ?? 0) + span;
    for (let i = 0; i < count; i++) {
      const n = running[i] ?? 0;
      const left = field(x, n, LEFT) - span / (slow[i] ?? 1);
      x[at(n) + LEFT] = left;
      if (left < SAME_MOMENT_MS) end(x, n);
    }
    for (let n = 0; n < networks; n++)
      if (field(x, n, STAGE) === MOVING) {
        x[at(n) + LEFT] = field(x, n, LEFT) - span;
        if (field(x, n, LEFT) < SAME_MOMENT_MS) x[at(n) + STAGE] = WAITING;
      }
  }

  function end(x: Float64Array, n: number) {
    const next = field(x, n, GROUP) + 1;
    x[at(n) + LEFT] = 0;
    x[at(n) + GROUP] = next;
    x[at(n) + STAGE] = next === last(n) ? DONE : DECIDING;
    if (next === last(n)) x[at(n) + END] = x[TIME] ?? 0;
  }

  /** Looks up, once for all tables, where each network is: its current group, and the index of what remains. */
  function look(x: Float64Array) {
    for (let n = 0; n < networks; n++) {
      const stage = field(x, n, STAGE);
      const budget = field(x, n, BUDGET);
      here[n] = 0;
      work[n] = 0;
      move[n] = 0;
      if (stage === DONE) then[n] = nothing;
      else if (stage === BLOCKED) then[n] = slot(flat, levels, flat.first[n] ?? 0, -1, budget);
      else {
        const group = field(x, n, GROUP);
        const on = field(x, n, ON);
        if (stage === DECIDING) then[n] = slot(flat, levels, group, on, budget);
        else {
          const current = group * accelerators + on;
          const left = stage === RUNNING ? field(x, n, LEFT) : (flat.timeMs[current] ?? 0);
          here[n] = current;
          work[n] = left;
          move[n] = stage === MOVING ? field(x, n, LEFT) : 0;
          then[n] = group + 1 < last(n) ? slot(flat, levels, group + 1, on, budget) : nothing;
        }
      }
    }
  }

  /** Cost still to come of `n` at these prices. Valid after `look`. */
  const share = (n: number, { prices, table }: ToGo): number =>
    (prices.work[here[n] ?? 0] ?? 0) * (work[n] ?? 0) +
    (prices.moving[n] ?? 0) * (move[n] ?? 0) +
    (table[then[n] ?? 0] ?? 0);

  /** A lower bound on the whole cost. Not exact once it reaches `limit`. */
  function bound(x: Float64Array, limit: number): number {
    const now = x[TIME] ?? 0;
    look(x);
    if (energyBudgetMj < Infinity) {
      let energy = x[ENERGY] ?? 0;
      for (let n = 0; n < networks; n++) energy += bounds.energy.table[then[n] ?? 0] ?? 0;
      if (!withinBudget(problem, energy)) return Infinity;
    }
    let most = 0;
    for (let i = 0; i < networks; i++) {
      const n = order[i] ?? 0;
      let from = now;
      if (field(x, n, STAGE) === BLOCKED)
        for (const before of problem.networks[n]?.after ?? [])
          from = Math.max(from, ends[before] ?? 0);
      ends[n] = field(x, n, STAGE) === DONE ? field(x, n, END) : from + share(n, bounds.way);
      most = Math.max(most, ends[n] ?? 0);
    }
    if (objective === "throughput") return throughputBound(x, now);
    for (const load of bounds.loads) {
      if (most >= limit) break;
      let sum = now;
      for (let n = 0; n < networks; n++) sum += share(n, load);
      most = Math.max(most, sum);
    }
    return most;
  }

  /**
   * A bound for any order of ends: the last of a set of networks cannot end before all work of the set is done. The
   * best order is found over sets: best[S] = max over the last network n in S of best[S without n] + 1 / its end.
   */
  function throughputBound(x: Float64Array, now: number): number {
    const sets = 1 << networks;
    const load = new Float64Array(sets);
    for (const one of bounds.loads) {
      for (let n = 0; n < networks; n++) shares[n] = share(n, one);
      for (let set = 1; set < sets; set++) {
        let sum = now;
        for (let n = 0; n < networks; n++) if (set & (1 << n)) sum += shares[n] ?? 0;
        load[set] = Math.max(load[set] ?? 0, sum);
      }
    }
    const best = new Float64Array(sets);
    for (let set = 1; set < sets; set++)
      for (let n = 0; n < networks; n++)
        if (set & (1 << n)) {
          const done = field(x, n, STAGE) === DONE;
          const earliest = done ? (ends[n] ?? 0) : Math.max(ends[n] ?? 0, load[set] ?? 0);
          best[set] = Math.max(best[set] ?? 0, (best[set & ~(1 << n)] ?? 0) + 1 / earliest);
        }
    return -(best[sets - 1] ?? 0);
  }

  return {
    start() {
      const numbers = new Float64Array(size);
      for (let n = 0; n < networks; n++) {
        numbers[at(n) + ON] = -1;
        numbers[at(n) + BUDGET] = flat.transitions[n] ?? 0;
      }
      release(numbers);
      return { numbers, assigned: new Int8Array(groups).fill(-1), bound: bound(numbers, Infinity) };
    },
    copy(from, to) {
      // Loops, because `set` is slower for so few numbers.
      for (let i = 0; i < size; i++) to.numbers[i] = from.numbers[i] ?? 0;
      for (let i = 0; i < groups; i++) to.assigned[i] = from.assigned[i] ?? 0;
      to.bound = from.bound;
    },
    assign,
    putFirst,
    run(state, limit) {
      const x = state.numbers;
      for (;;) {
        release(x);
        for (let n = 0; n < networks; n++)
          if (field(x, n, STAGE) === DECIDING) {
            const open = options(state, n);
            if (open.length !== 1) return { kind: "assign", network: n, options: open };
            assign(state, n, open[0] ?? 0);
          }
        const decision = dispatch(state);
        if (decision) return decision;
        let active = false;
        for (let n = 0; n < networks; n++) {
          const stage = field(x, n, STAGE);
          if (stage === MOVING || stage === RUNNING) active = true;
        }
        if (!active) {
          for (let n = 0; n < networks; n++) ends[n] = field(x, n, END);
          state.bound = withinBudget(problem, x[ENERGY] ?? 0) ? cost(objective, ends) : Infinity;
          return state.bound < limit ? "done" : "cut";
        }
        step(x);
        state.bound = bound(x, limit);
        if (state.bound >= limit) return "cut";
      }
    },
    priority(state) {
      const all = problem.networks.map((_, n) => n);
      return problem.accelerators.map((_, a) => {
        const mask = (n: number) => state.numbers[precedes + a * networks + n] ?? 0;
        const behind = (n: number) => all.filter((m) => mask(n) & (1 << m)).length;
        return [...all].sort((n, m) => behind(m) - behind(n) || n - m);
      });
    },
  };
}

/** The networks, each after all that it waits for. */
function inOrder({ networks }: Problem): number[] {
  const found: number[] = [];
  while (found.length < networks.length)
    for (const [n, { after }] of networks.entries())
      if (!found.includes(n) && after.every((m) => found.includes(m))) found.push(n);
  return found;
}

/**
 * For each network, an equal one before it, or -1. Two networks are equal if exchanging them changes nothing: same
 * groups, and no predecessors or successors.
 */
function twins({ problem: { networks } }: Flat): number[] {
  const text = networks.map(({ groups, after }, n) =>
    after.length > 0 || networks.some((other) => other.after.includes(n))
      ? `alone ${n}`
      : JSON.stringify(
          groups.map(({ name: _, ...numbers }) => [numbers, numbers.timeMs.map(String)]),
        ),
  );
  return text.map((one, n) => text.lastIndexOf(one, n - 1)).map((m, n) => (n === 0 ? -1 : m));
}
