// Best-effort clients that do not fit together take turns: some are parked while others run. A turn
// is long enough that moving memory costs little.
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import { answerWanted } from "./movable.ts";
import type { Mover, Taken } from "./taken.ts";

/** In ns; auto: moving takes less than a twentieth of the time. */
export type Quantum = number | "auto";

/** 4 % of the time is moving. The agent's polls add to that: 5 % are promised. */
const TURN_PER_MOVE = 24;
/** In ns: clients with little memory have no shorter turn. */
const SHORTEST = 2e9;
// Bytes a ns of a client that was never moved: somewhat below what was measured (decision 0017).
const ASSUMED_RATE = 40;
/** In ns. While the agent was away, nobody's turn passes. */
const LONGEST_LOOK = 1e9;

interface Standing {
  used: number; // ns of running since it was let in
  waitsSince: number | undefined; // ns on the clock; undefined: it does not wait
}

interface TurnOptions {
  readonly quantum: Quantum;
  readonly reserve: number;
  readonly free: (uuid: string) => number | undefined;
  readonly now: () => number;
  readonly taken: Taken;
}

export class MemoryTurns {
  readonly #options: TurnOptions;
  readonly #standings = new WeakMap<Client, Standing>();
  readonly #lastLook = new Map<string, number>();

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  /** `quiet`: no service has wanted memory for a while, so parked clients may come back. */
  look(gpu: ServedGpu, movers: readonly Mover[], quiet: boolean): void {
    const now = this.#options.now();
    const passed = Math.min(LONGEST_LOOK, now - (this.#lastLook.get(gpu.uuid) ?? now));
    this.#lastLook.set(gpu.uuid, now);
    for (const mover of movers) this.#note(mover, now, passed);
    const blocked = movers.filter(isBlocked).sort((one, other) => this.#before(one, other));
    const [first] = blocked;
    if (first) {
      const some = this.#admitBlocked(gpu, first, movers);
      for (const one of blocked) {
        const slot = gpu.region.memory.bestEffort[one.client.slot];
        if (slot) answerWanted(slot.memory, one.wantedTag, some || blocked.length > 1);
      }
      return;
    }
    if (!quiet) return;
    const out = movers.filter((mover) => this.#isOut(mover));
    const next = out.sort((one, other) => this.#waitsSince(one) - this.#waitsSince(other))[0];
    if (next) this.#admitParked(gpu, next, movers);
  }

  #note(mover: Mover, now: number, passed: number): void {
    const standing = this.#standing(mover);
    if (this.#isOut(mover)) {
      standing.used = 0;
      standing.waitsSince ??= now;
    } else if (isBlocked(mover)) standing.waitsSince ??= now;
    else {
      standing.waitsSince = undefined;
      if (mover.memory.state === "open") standing.used += passed;
    }
  }

  #admitBlocked(gpu: ServedGpu, first: Mover, movers: readonly Mover[]): boolean {
    const { free, reserve, taken } = this.#options;
    const others = movers.filter((mover) => mover !== first);
    const coming = others.reduce((sum, mover) => sum + taken.pending(mover), 0);
    const left = (free(gpu.uuid) ?? 0) - reserve;
    const missing = first.memory.wanted - Math.max(0, left) - coming;
    if (missing <= 0) return true;
    const givers = others.filter((mover) => taken.canGive(mover));
    const ready = givers.filter(
      (mover) => mover.memory.state === "parked" || isBlocked(mover) || this.#isOver(mover),
    );
    this.#take(gpu, ready, missing, `${first.client.name} needs memory`);
    // If all others are parked already, no turn begins: a job that grows would never end its turn.
    if (ready.some(({ memory }) => memory.state === "open")) this.#standing(first).used = 0;
    return coming > 0 || givers.length > 0 || others.some((mover) => isMoving(mover));
  }

  #admitParked(gpu: ServedGpu, next: Mover, movers: readonly Mover[]): void {
    const { free, reserve, taken } = this.#options;
    const { state, parkedBytes, reason } = next.memory;
    if (state === "parking" || (state === "returning" && reason === undefined)) return;
    const left = free(gpu.uuid);
    if (left === undefined) {
      if (state === "parked") taken.giveBack(gpu, next);
      return;
    }
    const others = movers.filter((mover) => mover !== next);
    const coming = others.reduce((sum, mover) => sum + taken.pending(mover), 0);
    const missing = parkedBytes - (left - reserve) - coming;
    if (missing <= 0) {
      if (coming === 0 && state === "parked") taken.giveBack(gpu, next);
      return;
    }
    const ready = others.filter((mover) => taken.canGive(mover) && this.#isOver(mover, missing));
    const enough = ready.reduce((sum, { memory }) => sum + memory.bytes - memory.parkedBytes, 0);
    // A job is parked only if that frees enough memory.
    if (enough >= missing) this.#take(gpu, ready, missing, `it is the turn of ${next.client.name}`);
  }

  #take(gpu: ServedGpu, from: readonly Mover[], bytes: number, because: string): void {
    let left = bytes;
    for (const mover of [...from].sort((one, other) => this.#givesBefore(one, other)))
      if (left > 0) left -= this.#options.taken.take(gpu, mover, left, because);
  }

  /** A client that is parked in part loses nothing, so it goes first. */
  #givesBefore(one: Mover, other: Mover): number {
    return (
      Number(other.memory.state === "parked") - Number(one.memory.state === "parked") ||
      this.#standing(other).used - this.#standing(one).used
    );
  }

  #before(one: Mover, other: Mover): number {
    return (
      this.#standing(one).used - this.#standing(other).used ||
      this.#waitsSince(one) - this.#waitsSince(other)
    );
  }

  #isOut(mover: Mover): boolean {
    return this.#options.taken.isOut(mover) || mover.memory.state === "returning";
  }

  /** `missing`: bytes that another client needs. */
  #isOver(mover: Mover, missing = Number.POSITIVE_INFINITY): boolean {
    const isOpen = mover.memory.state === "open";
    return isOpen && this.#standing(mover).used >= this.#quantumOf(mover, missing);
  }

  #quantumOf({ client, memory: { bytes, returnMs } }: Mover, missing: number): number {
    const { quantum } = this.#options;
    if (quantum !== "auto") return quantum * client.share;
    // Parking takes about as long as the return, but may have to wait for host memory at first.
    const returning =
      returnMs === undefined ? Math.min(bytes, missing) / ASSUMED_RATE : returnMs * 1e6;
    const moving = 2 * returning;
    return Math.max(SHORTEST, TURN_PER_MOVE * moving) * client.share;
  }

  #waitsSince(mover: Mover): number {
    return this.#standing(mover).waitsSince ?? Number.POSITIVE_INFINITY;
  }

  #standing({ client }: Mover): Standing {
    const known = this.#standings.get(client) ?? { used: 0, waitsSince: undefined };
    this.#standings.set(client, known);
    return known;
  }
}

const isBlocked = ({ memory }: Mover): boolean => memory.state === "open" && memory.wanted > 0;

const isMoving = ({ memory }: Mover): boolean =>
  memory.state === "parking" || memory.state === "returning";
