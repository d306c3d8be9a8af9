// Executes one warp. Each lane has a program counter of its own, and lanes at the same instruction run as one group. Of
// several groups the one deepest in calls runs first, then the one with the lowest program counter, so that lanes
// converge where their paths join. Warp-wide operations wait for each lane of their mask, as on GPUs since Volta.
import type { Block, BlockCode } from "./block.ts";
import { KernelError } from "./errors.ts";
import type { Segment } from "./memory.ts";
import { EXITED, LANES, RUNS, WAITS_FOR_LANES, WarpState } from "./warp-state.ts";

/** Executes an instruction for lanes[0] to lanes[n - 1], each on its own. */
export type Step = (warp: Warp, lanes: Uint8Array, n: number) => void;

/**
 * Executes an instruction that changes control flow, for the warp's current group. It returns the next program counter
 * of all these lanes, or REGROUP after it has set the lanes' program counters and states itself.
 */
export type Control = (warp: Warp) => number;
export const REGROUP = -1;

/**
 * After this many instructions another group of the warp gets its turn, because a lane may spin until another one stores.
 */
const PATIENCE = 2_000;

/** The return address of a call, and what it restores. */
export interface Return {
  readonly pc: number;
  readonly frame: number;
  /** Copies results to the caller's frame and restores saved registers. */
  readonly finish: (warp: Warp, lane: number, frame: number) => void;
}

/** The compiled kernel, as far as a warp needs it. Arrays are indexed by instruction. */
export interface Code extends BlockCode {
  /** The kernel's first instruction. */
  readonly entry: number;
  readonly steps: readonly (Step | undefined)[];
  readonly controls: readonly (Control | undefined)[];
  /** Executed by the lanes of a warp-wide operation when all have arrived. */
  readonly meetings: readonly (Step | undefined)[];
  /** The next control instruction at or after each instruction. */
  readonly ends: Int32Array;
  /** The registers' initial words, with constants. */
  readonly template: ArrayBuffer;
  /** Adds the instruction and the thread to an error. */
  addPlace(error: unknown, pc: number, warp: Warp): unknown;
}

export class Warp extends WarpState {
  readonly block: Block;
  readonly code: Code;
  readonly stacks: Return[][] = Array.from({ length: LANES }, () => []);
  /** The memory that the last resolved address is in. */
  segment: Segment;
  /** Set by an instruction to end the warp's turn, because it spins. */
  yields = false;

  readonly #guarded = new Uint8Array(LANES);
  readonly #lastRun = new Float64Array(LANES);
  #impatience = 0;
  /** `executed` when the last group was chosen. */
  #since = 0;
  #limit = 0;

  constructor(code: Code, block: Block, index: number, threads: number) {
    super(index, threads, code.entry, code.template);
    this.block = block;
    this.code = code;
    this.segment = block.shared;
  }

  /** Runs about `budget` instructions, or fewer if no lane can continue. */
  run(budget: number): void {
    const { steps, controls, ends } = this.code;
    const { lanes } = this;
    let left = budget;
    this.yields = false;
    while (left > 0 && this.#pick()) {
      let pc = this.pc;
      try {
        for (;;) {
          const end = ends[pc] as number;
          const stop = Math.min(end, this.#limit);
          const n = this.n;
          const count = stop - pc + 1;
          for (; pc < stop; pc++) (steps[pc] as Step)(this, lanes, n);
          left -= count;
          this.executed += count;
          this.threadExecuted += count * n;
          if (pc === this.#limit) break;
          this.pc = pc;
          const next = (controls[pc] as Control)(this);
          if (next === REGROUP) {
            pc = REGROUP;
            break;
          }
          const passed = pc < this.#limit && next >= this.#limit;
          pc = next;
          if (passed || left <= 0) break;
        }
      } catch (error) {
        throw this.addPlace(error, pc);
      }
      if (pc !== REGROUP) for (let k = 0; k < this.n; k++) this.pcs[lanes[k] as number] = pc;
      if (this.yields) return;
    }
  }

  /** Adds the instruction to an error. */
  addPlace(error: unknown, pc: number): unknown {
    return this.code.addPlace(error, pc, this);
  }

  /** The lanes whose predicate holds, in a buffer that the next call overwrites. */
  guard(lanes: Uint8Array, n: number, slot: number, negated: boolean): Guarded {
    const out = this.#guarded;
    let count = 0;
    for (let k = 0; k < n; k++) {
      const lane = lanes[k] as number;
      if ((this.i32[slot + lane] !== 0) !== negated) out[count++] = lane;
    }
    guarded.lanes = out;
    guarded.n = count;
    return guarded;
  }

  /** Makes `some` the current group; its other lanes go to `elsewhere`. */
  narrow(some: Guarded, elsewhere: number): void {
    for (let k = 0; k < this.n; k++) this.pcs[this.lanes[k] as number] = elsewhere;
    let mask = 0;
    for (let k = 0; k < some.n; k++) {
      const lane = some.lanes[k] as number;
      this.lanes[k] = lane;
      mask |= 1 << lane;
    }
    this.n = some.n;
    this.mask = mask >>> 0;
  }

  /** Chooses the next group. False if no lane can continue. */
  #pick(): boolean {
    const { states, pcs, stacks } = this;
    let best = -1;
    let depth = -1;
    let pc = 0;
    let groups = 0;
    for (let l = 0; l < LANES; l++) {
      if (states[l] !== RUNS) continue;
      const d = (stacks[l] as Return[]).length;
      const p = pcs[l] as number;
      if (best < 0 || d > depth || (d === depth && p < pc)) {
        if (best >= 0) groups++;
        best = l;
        depth = d;
        pc = p;
      } else if (d !== depth || p !== pc) groups++;
    }
    if (best < 0) return false;
    if (groups > 0 && (this.#impatience > PATIENCE || this.block.strays())) {
      for (let l = 0; l < LANES; l++)
        if (states[l] === RUNS && (this.#lastRun[l] as number) < (this.#lastRun[best] as number))
          best = l;
      depth = (stacks[best] as Return[]).length;
      pc = pcs[best] as number;
      this.#impatience = 0;
    } else this.#impatience = groups > 0 ? this.#impatience + (this.executed - this.#since) : 0;
    this.#since = this.executed;
    let limit = Number.POSITIVE_INFINITY;
    let n = 0;
    let mask = 0;
    for (let l = 0; l < LANES; l++) {
      if (states[l] !== RUNS || (stacks[l] as Return[]).length !== depth) continue;
      const p = pcs[l] as number;
      if (p === pc) {
        this.lanes[n++] = l;
        mask |= 1 << l;
        this.#lastRun[l] = this.executed;
      } else if (p > pc && p < limit) limit = p;
    }
    this.n = n;
    this.mask = mask >>> 0;
    this.pc = pc;
    this.#limit = limit;
    return true;
  }

  /** The current group arrives at a warp-wide operation, which is executed when all lanes of a mask have arrived. */
  meet(maskOf: (lane: number) => number): number {
    const { pc, lanes, n } = this;
    const first = maskOf(lanes[0] as number) >>> 0;
    let same = true;
    for (let k = 0; k < n; k++) {
      const lane = lanes[k] as number;
      const mask = maskOf(lane) >>> 0;
      if (((mask >>> lane) & 1) === 0)
        throw new KernelError(
          "PTX_BAD_MASK",
          `the mask 0x${mask.toString(16)} leaves out the lane`,
          lane,
        );
      same &&= mask === first;
      this.waits[lane] = mask;
    }
    if (same && (first & this.alive) >>> 0 === this.mask) {
      (this.code.meetings[pc] as Step)(this, lanes, n);
      return pc + 1;
    }
    for (let k = 0; k < n; k++) {
      const lane = lanes[k] as number;
      this.pcs[lane] = pc;
      this.states[lane] = WAITS_FOR_LANES;
    }
    this.#release();
    return REGROUP;
  }

  /** Executes warp-wide operations at which all live lanes of the mask have arrived. */
  #release(): void {
    const group = new Uint8Array(LANES);
    for (let l = 0; l < LANES; l++) {
      if (this.states[l] !== WAITS_FOR_LANES) continue;
      const wanted = ((this.waits[l] as number) & this.alive) >>> 0;
      let complete = true;
      let n = 0;
      for (let o = 0; o < LANES && complete; o++) {
        if (((wanted >>> o) & 1) === 0) continue;
        complete =
          this.states[o] === WAITS_FOR_LANES &&
          this.pcs[o] === this.pcs[l] &&
          this.waits[o] === this.waits[l];
        group[n++] = o;
      }
      if (!complete) continue;
      const pc = this.pcs[l] as number;
      (this.code.meetings[pc] as Step)(this, group, n);
      for (let k = 0; k < n; k++) {
        const lane = group[k] as number;
        this.states[lane] = RUNS;
        this.pcs[lane] = pc + 1;
      }
    }
  }

  /** The lanes of the current group exit. */
  exit(): void {
    for (let k = 0; k < this.n; k++) this.states[this.lanes[k] as number] = EXITED;
    this.alive = (this.alive & ~this.mask) >>> 0;
    this.#release();
    this.block.laneExited();
  }
}

interface Guarded {
  lanes: Uint8Array;
  n: number;
}
const guarded: Guarded = { lanes: new Uint8Array(LANES), n: 0 };
