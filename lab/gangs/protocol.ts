// Committed collectives as a transition system. A hold is a service that is active on a GPU. A collective's kernel waits
// on each member's GPU until it is committed: it reports that it has arrived, and a decider commits the operation when
// all members have arrived and none of their GPUs is held. What is committed is let end, whatever holds come then.
import type { Gang, Op } from "./program.ts";

/** The states of an operation of a rank. */
const [WAITS, ARRIVED, RUNS, DONE] = [0, 1, 2, 3];

/** Variations of the protocol. Each but `whole` lacks a part of it, and shows that the exploration finds such a defect. */
export type Variant =
  | "whole"
  /** All collectives of the gang are committed in one order, that of the first rank. */
  | "one-order"
  /** No wait for a commit ends by itself. */
  | "no-timeout"
  /** A time-out lets its collective go, and nothing that the collective waits for on other ranks. */
  | "bare-timeout"
  /** A rank's collective begins as soon as the rank's own GPU is not held. */
  | "uncommitted"
  /** A time-out also counts while a GPU is held. */
  | "impatient";

export interface Setting {
  readonly gang: Gang;
  readonly variant?: Variant;
  /** The holds that begin on each GPU. */
  readonly holds: number;
  /** Whether one rank may die at any instant. */
  readonly deaths?: boolean;
}

export interface State {
  /** Operations that each rank's host has launched. */
  readonly launched: readonly number[];
  /** The state of each operation, by rank. */
  readonly ops: readonly (readonly number[])[];
  /** By collective. 1: committed; 2: let go by a time-out, with all before it. */
  readonly commits: readonly number[];
  /** By GPU: whether it is held now, how often it may be held, and kernels that began since it is held. */
  readonly held: readonly boolean[];
  readonly left: readonly number[];
  readonly begun: readonly number[];
  /** The rank that has died, or -1. */
  readonly dead: number;
}

export interface Step {
  readonly name: string;
  readonly state: State;
}

interface Member {
  readonly rank: number;
  readonly at: number;
}

export class Protocol {
  readonly setting: Setting;
  readonly #keys: readonly string[];
  /** By collective. */
  readonly #members: readonly (readonly Member[])[];
  /** By rank and operation: the collective's number, or -1. */
  readonly #numbers: readonly (readonly number[])[];
  readonly #gpus: number;

  constructor(setting: Setting) {
    this.setting = setting;
    const { ranks } = setting.gang;
    const keys = new Map<string, Member[]>();
    for (const [rank, { ops }] of ranks.entries())
      for (const [at, op] of ops.entries())
        if (op.kind === "collective") keys.set(op.key, [...(keys.get(op.key) ?? []), { rank, at }]);
    this.#keys = [...keys.keys()];
    this.#members = [...keys.values()];
    this.#numbers = ranks.map(({ ops }) =>
      ops.map((op) => (op.kind === "collective" ? this.#keys.indexOf(op.key) : -1)),
    );
    this.#gpus = 1 + Math.max(...ranks.map(({ gpu }) => gpu));
  }

  first(): State {
    const { ranks } = this.setting.gang;
    const each = <T>(value: T) => Array.from({ length: this.#gpus }, () => value);
    return this.#launch({
      launched: ranks.map(() => 0),
      ops: ranks.map(({ ops }) => ops.map(() => WAITS as number)),
      commits: this.#keys.map(() => 0),
      ...{ held: each(false), left: each(this.setting.holds), begun: each(0) },
      dead: -1,
    });
  }

  /** The steps that the gang and the protocol may take. */
  steps(state: State): readonly Step[] {
    const own = [...this.#rankSteps(state), ...this.#commitSteps(state)];
    const mayTimeOut = own.length === 0 || this.setting.variant === "impatient";
    const all = mayTimeOut ? [...own, ...this.#timeouts(state)] : own;
    return all.map(({ name, state: reached }) => ({ name, state: this.#launch(reached) }));
  }

  /** The steps of what is around: services begin and end to be active, and a rank dies. */
  surroundings(state: State): readonly Step[] {
    const holds = state.held.map((held, gpu) =>
      held
        ? {
            name: `GPU ${gpu} is released`,
            state: { ...state, held: state.held.with(gpu, false), begun: state.begun.with(gpu, 0) },
          }
        : (state.left[gpu] ?? 0) > 0 && {
            name: `GPU ${gpu} is held`,
            state: {
              ...state,
              held: state.held.with(gpu, true),
              left: state.left.with(gpu, (state.left[gpu] ?? 0) - 1),
            },
          },
    );
    const deaths =
      this.setting.deaths && state.dead < 0
        ? state.launched.map((_, rank) => ({
            name: `rank ${rank} dies`,
            state: { ...state, dead: rank },
          }))
        : [];
    return [...holds.filter((one) => one !== false), ...deaths];
  }

  /** Whether all ranks have done all. */
  isDone({ launched, ops }: State): boolean {
    const { ranks } = this.setting.gang;
    return (
      launched.every((count, rank) => count === ranks[rank]?.ops.length) &&
      ops.every((all) => all.every((one) => one === DONE))
    );
  }

  /** The collectives whose kernels spin: they run on some member's GPU, and not on all. */
  spinning(state: State): readonly string[] {
    return this.#keys.filter((_, number) =>
      (this.#members[number] ?? []).some(({ rank, at }) => state.ops[rank]?.[at] === RUNS),
    );
  }

  *#rankSteps(state: State): Generator<Step> {
    const { ranks } = this.setting.gang;
    for (const [rank, { gpu }] of ranks.entries()) {
      if (rank === state.dead) continue;
      const now = state.ops[rank] ?? [];
      for (const at of this.#heads(state, rank)) {
        const number = this.#numbers[rank]?.[at] ?? -1;
        if (number < 0) {
          if (state.held[gpu] && !this.#isLetGo(state, rank, at)) continue;
          yield {
            name: `rank ${rank} computes ${at}`,
            state: this.#begins(this.#put(state, rank, at, DONE), gpu),
          };
        } else if (now[at] === WAITS) {
          yield {
            name: `rank ${rank} arrives at ${at}`,
            state: this.#put(state, rank, at, ARRIVED),
          };
        } else if (this.#mayBegin(state, number, gpu)) {
          yield {
            name: `rank ${rank} begins ${at}`,
            state: this.#ended(this.#begins(this.#put(state, rank, at, RUNS), gpu), number),
          };
        }
      }
    }
  }

  /**
   * The hosts launch what they may. A late launch does to others what a late arrival does, so it is no step of its own: the
   * order within a channel is that of the rank's list in any case.
   */
  #launch(state: State): State {
    let after = state;
    for (const [rank, { ops }] of this.setting.gang.ranks.entries()) {
      if (rank === state.dead) continue;
      for (let at = after.launched[rank] ?? 0; at < ops.length; at++) {
        if (ops[at]?.kind === "sync") {
          if (after.ops[rank]?.slice(0, at).some((one) => one !== DONE)) break;
          after = this.#put(after, rank, at, DONE);
        }
        after = { ...after, launched: after.launched.with(rank, at + 1) };
      }
    }
    return after;
  }

  #mayBegin(state: State, number: number, gpu: number): boolean {
    if (this.setting.variant === "uncommitted") return !state.held[gpu];
    return (state.commits[number] ?? 0) > 0;
  }

  /** The operations at the heads of a rank's channels whose predecessors are done. */
  #heads(state: State, rank: number): readonly number[] {
    const { ops, channels } = this.setting.gang.ranks[rank] ?? { ops: [], channels: 0 };
    const now = state.ops[rank] ?? [];
    const seen = new Set<number>();
    const heads: number[] = [];
    for (const [at, op] of ops.slice(0, state.launched[rank]).entries()) {
      if (op.kind === "sync" || now[at] === RUNS || now[at] === DONE) continue;
      const channel = op.stream % channels;
      if (seen.has(channel)) continue;
      seen.add(channel);
      if (this.#isFree(ops as readonly Op[], now, op, at)) heads.push(at);
    }
    return heads;
  }

  #isFree(ops: readonly Op[], now: readonly number[], op: Op, at: number): boolean {
    const before = ops.findLastIndex(
      (other, place) => place < at && "stream" in other && other.stream === op.stream,
    );
    return [...(before >= 0 ? [before] : []), ...(op.after ?? [])].every(
      (one) => now[one] === DONE,
    );
  }

  *#commitSteps(state: State): Generator<Step> {
    // Peers of a rank that has died would spin.
    if (this.setting.variant === "uncommitted" || state.dead >= 0) return;
    for (const [number, members] of this.#members.entries()) {
      if (state.commits[number] !== 0) continue;
      const haveArrived = members.every(({ rank, at }) => state.ops[rank]?.[at] === ARRIVED);
      if (!haveArrived || members.some(({ rank }) => this.#isHeld(state, rank))) continue;
      const isNext = number === state.commits.indexOf(0);
      if (this.setting.variant === "one-order" && !isNext) continue;
      yield {
        name: `${this.#keys[number]} is committed`,
        state: { ...state, commits: state.commits.with(number, 1) },
      };
    }
  }

  /** Time-outs count only while no GPU of the gang is held, and are much longer than any step takes. */
  *#timeouts(state: State): Generator<Step> {
    const { variant = "whole", gang } = this.setting;
    if (variant === "no-timeout" || variant === "one-order" || state.dead >= 0) return;
    if (variant !== "impatient" && gang.ranks.some((_, rank) => this.#isHeld(state, rank))) return;
    for (const [number, members] of this.#members.entries()) {
      if (state.commits[number] !== 0) continue;
      if (!members.some(({ rank, at }) => state.ops[rank]?.[at] === ARRIVED)) continue;
      const going = variant === "bare-timeout" ? new Set([number]) : this.#before(number);
      const commits = state.commits.map((one, other) => (going.has(other) ? 2 : one));
      yield { name: `${this.#keys[number]} is let go`, state: { ...state, commits } };
    }
  }

  #isHeld(state: State, rank: number): boolean {
    return state.held[this.setting.gang.ranks[rank]?.gpu ?? 0] ?? false;
  }

  /** This collective, and all that its members launch before it, and so on. */
  #before(number: number): ReadonlySet<number> {
    const all = new Set([number]);
    for (const one of all)
      for (const { rank, at } of this.#members[one] ?? [])
        for (const other of this.#numbers[rank]?.slice(0, at) ?? []) if (other >= 0) all.add(other);
    return all;
  }

  /** Whether a hold does not stop this computation: a collective behind it on its rank was let go and has not ended. */
  #isLetGo(state: State, rank: number, at: number): boolean {
    if (this.setting.variant === "bare-timeout") return false;
    const now = state.ops[rank] ?? [];
    return (this.#numbers[rank] ?? []).some(
      (number, place) =>
        place > at && number >= 0 && state.commits[number] === 2 && now[place] !== DONE,
    );
  }

  #put(state: State, rank: number, at: number, value: number): State {
    return { ...state, ops: state.ops.with(rank, (state.ops[rank] ?? []).with(at, value)) };
  }

  #begins(state: State, gpu: number): State {
    if (!state.held[gpu]) return state;
    return { ...state, begun: state.begun.with(gpu, (state.begun[gpu] ?? 0) + 1) };
  }

  /** Once all members' kernels run, they end. */
  #ended(state: State, number: number): State {
    const members = this.#members[number] ?? [];
    if (members.some(({ rank, at }) => state.ops[rank]?.[at] !== RUNS || rank === state.dead))
      return state;
    return members.reduce((now, { rank, at }) => this.#put(now, rank, at, DONE), state);
  }
}
