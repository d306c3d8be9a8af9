// One warp: its registers and where each of its lanes is. Each lane has a program counter of its own; lanes at
// the same instruction run as one group, and of several groups the one that is deepest in calls, then the one
// furthest back, goes first, so that lanes meet again where their ways join. Instructions that lanes execute
// together wait for each other lane by lane, as on GPUs since Volta.

import type { Program } from "../compile/program.ts";
import type { Block } from "./block.ts";
import { Fault } from "./errors.ts";
import { type Segment, segmentOf } from "./memory.ts";

export const LANES = 32;
const ALL = 0xffffffff;

/** What an instruction does to the lanes lanes[0..n), each on its own. */
export type Step = (warp: Warp, lanes: Uint8Array, n: number) => void;

/**
 * An instruction that decides where lanes go next. It runs for the warp's current group and returns where all
 * of them go on, or REGROUP after it has set the program counters and states itself.
 */
export type Control = (warp: Warp) => number;
export const REGROUP = -1;

export const RUNS = 0;
export const EXITED = 1;
/** For the other lanes of a mask. */
export const WAITS_FOR_LANES = 2;
export const WAITS_AT_BARRIER = 3;

/** Instructions for which one group may keep others of its warp waiting: a lane may spin for another's store. */
const PATIENCE = 2_000;
const LOCAL_BYTES = 512;
/** Per lane; CUDA's default stack is 1 KiB, its limit 512 KiB. */
const LOCAL_LIMIT = 1 << 19;

/** Where a call goes back to, and what it keeps. */
export interface Return {
  readonly pc: number;
  readonly frame: number;
  /** Copies results into the caller's frame, and brings back registers that the call kept. */
  readonly finish: (warp: Warp, lane: number, frame: number) => void;
}

export class Warp {
  readonly block: Block;
  readonly index: number;
  readonly program: Program;
  readonly i32: Int32Array;
  readonly u32: Uint32Array;
  readonly f32: Float32Array;
  readonly f64: Float64Array;
  readonly s64: BigInt64Array;
  readonly u64: BigUint64Array;

  /** The current group. */
  readonly lanes = new Uint8Array(LANES);
  n = 0;
  mask = 0;
  pc = 0;

  readonly pcs = new Int32Array(LANES);
  readonly states = new Uint8Array(LANES).fill(EXITED);
  /** The mask of a lane that waits for lanes, the number of the barrier of one that waits there. */
  readonly waits = new Uint32Array(LANES);
  /** Where the lane's frame begins in its local memory. */
  readonly frames = new Int32Array(LANES);
  readonly stacks: Return[][] = Array.from({ length: LANES }, () => []);
  local: Segment = segmentOf(0);
  localBytes = 0;
  /** Lanes that have not exited. */
  alive = 0;
  /** Which bytes the address just resolved is in. */
  segment: Segment;
  /** Ends the warp's turn: it only spins. */
  yields = false;
  /** Instructions executed, by warps and by threads. */
  executed = 0;
  threadExecuted = 0;

  readonly #guarded = new Uint8Array(LANES);
  readonly #lastRun = new Float64Array(LANES);
  #impatience = 0;
  /** `executed` when the last group was chosen. */
  #since = 0;
  #limit = 0;

  constructor(block: Block, index: number, threads: number, template: ArrayBuffer) {
    this.block = block;
    this.index = index;
    this.program = block.program;
    const registers = template.slice(0);
    this.i32 = new Int32Array(registers);
    this.u32 = new Uint32Array(registers);
    this.f32 = new Float32Array(registers);
    this.f64 = new Float64Array(registers);
    this.s64 = new BigInt64Array(registers);
    this.u64 = new BigUint64Array(registers);
    this.segment = block.shared;
    this.alive = threads >= LANES ? ALL : 2 ** threads - 1;
    this.states.fill(RUNS, 0, Math.min(threads, LANES));
    this.pcs.fill(block.program.entry);
  }

  /** The number of a lane's thread in its block. */
  threadOf(lane: number): number {
    return this.index * LANES + lane;
  }

  get done(): boolean {
    return this.alive === 0;
  }

  /** Can any lane go on? */
  get ready(): boolean {
    for (let l = 0; l < LANES; l++) if (this.states[l] === RUNS) return true;
    return false;
  }

  /** Runs about `budget` instructions, fewer when no lane can go on. */
  run(budget: number): void {
    const { steps, controls, ends } = this.program;
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
      } catch (fault) {
        throw this.program.located(fault, pc, this);
      }
      if (pc !== REGROUP) for (let k = 0; k < this.n; k++) this.pcs[lanes[k] as number] = pc;
      if (this.yields) return;
    }
  }

  /** The lanes of `lanes` whose guard holds, in a buffer that the next call overwrites; their number in `n`. */
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

  /** Makes `n` lanes of the buffer the current group; the others of it go to `elsewhere`. */
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

  /** Chooses the next group; false if no lane can go on. */
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

  /** Lanes of the current group wait for the others of their masks; all that is complete runs. */
  meet(maskOf: (lane: number) => number): number {
    const { pc, lanes, n } = this;
    const first = maskOf(lanes[0] as number) >>> 0;
    let same = true;
    for (let k = 0; k < n; k++) {
      const lane = lanes[k] as number;
      const mask = maskOf(lane) >>> 0;
      if (((mask >>> lane) & 1) === 0)
        throw new Fault(
          "PTX_BAD_MASK",
          `the mask 0x${mask.toString(16)} leaves out the lane`,
          lane,
        );
      same &&= mask === first;
      this.waits[lane] = mask;
    }
    if (same && (first & this.alive) >>> 0 === this.mask) {
      (this.program.meetings[pc] as Step)(this, lanes, n);
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

  /** Runs what all live lanes of a mask have reached. */
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
      (this.program.meetings[pc] as Step)(this, group, n);
      for (let k = 0; k < n; k++) {
        const lane = group[k] as number;
        this.states[lane] = RUNS;
        this.pcs[lane] = pc + 1;
      }
    }
  }

  /** The current group has ended. */
  exit(): void {
    for (let k = 0; k < this.n; k++) this.states[this.lanes[k] as number] = EXITED;
    this.alive = (this.alive & ~this.mask) >>> 0;
    this.#release();
    this.block.laneExited();
  }

  /** Local memory of every lane reaches at least up to `bytes`. */
  ensureLocal(bytes: number, lane: number): void {
    if (bytes <= this.localBytes) return;
    if (bytes > LOCAL_LIMIT)
      throw new Fault("PTX_STACK_OVERFLOW", `the stack is longer than ${LOCAL_LIMIT} bytes`, lane);
    let size = Math.max(this.localBytes, LOCAL_BYTES);
    while (size < bytes) size *= 2;
    const grown = segmentOf(size * LANES);
    for (let l = 0; l < LANES; l++) {
      const from = l * this.localBytes;
      grown.u8.set(this.local.u8.subarray(from, from + this.localBytes), l * size);
    }
    this.local = grown;
    this.localBytes = size;
  }
}

interface Guarded {
  lanes: Uint8Array;
  n: number;
}
const guarded: Guarded = { lanes: new Uint8Array(LANES), n: 0 };
