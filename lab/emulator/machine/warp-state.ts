// The state of one warp: its registers, and where each of its lanes is.
import { KernelError } from "./errors.ts";
import { type Segment, segmentOf } from "./memory.ts";

export const LANES = 32;
const ALL = 0xffffffff;

/** States of a lane. */
export const RUNS = 0;
export const EXITED = 1;
/** It waits for the other lanes of a mask, in a warp-wide operation. */
export const WAITS_FOR_LANES = 2;
export const WAITS_AT_BARRIER = 3;

const LOCAL_BYTES = 512;
/** For each lane. CUDA's default stack is 1 KiB, its limit 512 KiB. */
const LOCAL_LIMIT = 1 << 19;

export class WarpState {
  readonly index: number;
  /** Views of the warp's registers, which share one buffer. */
  readonly i32: Int32Array;
  readonly u32: Uint32Array;
  readonly f32: Float32Array;
  readonly f64: Float64Array;
  readonly s64: BigInt64Array;
  readonly u64: BigUint64Array;

  /** The lanes of the current group: those that execute the instruction at `pc` together. */
  readonly lanes = new Uint8Array(LANES);
  n = 0;
  mask = 0;
  pc = 0;

  readonly pcs = new Int32Array(LANES);
  readonly states = new Uint8Array(LANES).fill(EXITED);
  /** For a lane that waits for lanes, their mask; for one that waits at a barrier, its number. */
  readonly waits = new Uint32Array(LANES);
  /** The offset of each lane's stack frame in its local memory. */
  readonly frames = new Int32Array(LANES);
  local: Segment = segmentOf(0);
  localBytes = 0;
  /** Lanes that have not exited. */
  alive = 0;
  /** Instructions executed, counted once for the warp and once for each thread. */
  executed = 0;
  threadExecuted = 0;

  /** `template` holds the registers' initial words. */
  constructor(index: number, threads: number, entry: number, template: ArrayBuffer) {
    this.index = index;
    const registers = template.slice(0);
    this.i32 = new Int32Array(registers);
    this.u32 = new Uint32Array(registers);
    this.f32 = new Float32Array(registers);
    this.f64 = new Float64Array(registers);
    this.s64 = new BigInt64Array(registers);
    this.u64 = new BigUint64Array(registers);
    this.alive = threads >= LANES ? ALL : 2 ** threads - 1;
    this.states.fill(RUNS, 0, Math.min(threads, LANES));
    this.pcs.fill(entry);
  }

  /** The number in its block of a lane's thread. */
  threadOf(lane: number): number {
    return this.index * LANES + lane;
  }

  get done(): boolean {
    return this.alive === 0;
  }

  /** Whether any lane can continue. */
  get ready(): boolean {
    for (let l = 0; l < LANES; l++) if (this.states[l] === RUNS) return true;
    return false;
  }

  /** Grows the local memory of every lane to at least `bytes`. */
  ensureLocal(bytes: number, lane: number): void {
    if (bytes <= this.localBytes) return;
    if (bytes > LOCAL_LIMIT)
      throw new KernelError(
        "PTX_STACK_OVERFLOW",
        `the stack is longer than ${LOCAL_LIMIT} bytes`,
        lane,
      );
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
