// One block: its warps, its shared memory and its 16 barriers.
import { popcount } from "../numbers/popcount.ts";
import { AsyncCopies } from "./async-copies.ts";
import { KernelError, type Location } from "./errors.ts";
import type { DeviceMemory, Segment } from "./memory.ts";
import {
  EXITED,
  LANES,
  RUNS,
  WAITS_AT_BARRIER,
  WAITS_FOR_LANES,
  type WarpState,
} from "./warp-state.ts";

const BARRIERS = 16;
const ALL = 0xffffffff;
const STRAYS = 1 / 64;

interface Grid {
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
}

/** State that all blocks of a launch share. */
export interface Running extends Grid {
  readonly memory: DeviceMemory;
  readonly params: Segment;
  readonly paramBytes: number;
  readonly sharedBytes: number;
  readonly dynamicShared: number;
  readonly printed: string[];
  readonly onAtomic: ((address: number) => void) | undefined;
  /** Random numbers in [0, 1) from the seed; undefined without a seed. */
  readonly random: (() => number) | undefined;
  /** Instructions of all warps so far: the value of %clock. */
  clock: number;
}

/** The reduction of a barrier (`bar.red`). */
export interface Reduction {
  readonly kind: "popc" | "and" | "or";
  /** Slots of the predicate and of the result. */
  readonly source: number;
  readonly result: number;
}

/** The compiled kernel, as far as a block needs it. */
export interface BlockCode {
  /** The reduction of each instruction that is a barrier with one. */
  readonly reductions: readonly (Reduction | undefined)[];
  locationOf(pc: number): Location;
}

interface Barrier {
  /** Threads that it waits for; 0: all that have not exited. */
  expected: number;
  readonly arrived: Uint32Array;
  /** The instruction at which each warp's lanes arrived, to check aligned barriers. */
  readonly at: Int32Array;
  reduction: Reduction | undefined;
  votes: number;
  voters: number;
}

export class Block {
  readonly code: BlockCode;
  readonly running: Running;
  readonly index: readonly [number, number, number];
  readonly shared: Segment;
  warps: readonly WarpState[] = [];
  /** The addresses of live mbarrier objects, each with whether it has been used. */
  readonly mbarriers = new Map<number, boolean>();
  readonly asyncCopies: AsyncCopies;
  readonly #barriers: (Barrier | undefined)[] = new Array(BARRIERS);

  constructor(
    code: BlockCode,
    running: Running,
    index: readonly [number, number, number],
    shared: Segment,
  ) {
    this.code = code;
    this.running = running;
    this.index = index;
    this.shared = shared;
    this.asyncCopies = new AsyncCopies(running.random);
  }

  #barrier(id: number): Barrier {
    const known = this.#barriers[id];
    if (known !== undefined) return known;
    if (!(id < BARRIERS)) throw new KernelError("PTX_BAD_BARRIER", `there is no barrier ${id}`);
    const made: Barrier = {
      expected: 0,
      arrived: new Uint32Array(this.warps.length),
      at: new Int32Array(this.warps.length).fill(-1),
      reduction: undefined,
      votes: 0,
      voters: 0,
    };
    this.#barriers[id] = made;
    return made;
  }

  /**
   * A lane arrives at barrier `id`, which waits for `expected` threads (0: all that have not exited). The lane waits
   * there if `stays`. `aligned`: all lanes of a warp must execute the same instruction.
   */
  arrive(
    warp: WarpState,
    lane: number,
    id: number,
    expected: number,
    stays: boolean,
    aligned: boolean,
    reduction?: Reduction,
  ): void {
    const barrier = this.#barrier(id);
    if (expected % LANES !== 0)
      throw new KernelError(
        "PTX_BAD_BARRIER",
        `${expected} threads are no whole number of warps`,
        lane,
      );
    if (barrier.arrived.some((some) => some !== 0) && barrier.expected !== expected)
      throw new KernelError(
        "PTX_BAD_BARRIER",
        `barrier ${id} waits for ${barrier.expected || "all"} threads, not for ${expected || "all"}`,
        lane,
      );
    barrier.expected = expected;
    const bit = 1 << lane;
    const arrived = barrier.arrived[warp.index] as number;
    if ((arrived & bit) !== 0)
      throw new KernelError("PTX_BAD_BARRIER", `it arrives twice at barrier ${id}`, lane);
    if (aligned && arrived !== 0 && barrier.at[warp.index] !== warp.pc)
      throw new KernelError(
        "PTX_BAD_BARRIER",
        `lanes of one warp are at different instructions for barrier ${id}`,
        lane,
      );
    barrier.at[warp.index] = warp.pc;
    barrier.arrived[warp.index] = (arrived | bit) >>> 0;
    if (reduction !== undefined) {
      barrier.reduction = reduction;
      barrier.voters += 1;
      if (warp.i32[reduction.source + lane] !== 0) barrier.votes += 1;
    }
    warp.pcs[lane] = stays ? warp.pc : warp.pc + 1;
    warp.states[lane] = stays ? WAITS_AT_BARRIER : RUNS;
    warp.waits[lane] = id;
  }

  /** Opens the barrier if all threads have arrived. */
  release(id: number): void {
    const barrier = this.#barriers[id];
    if (barrier === undefined) return;
    let arrived = 0;
    let missing = false;
    for (const warp of this.warps) {
      const here = barrier.arrived[warp.index] as number;
      const whole = (here | ~warp.alive) >>> 0 === ALL;
      if (here === 0) missing ||= warp.alive !== 0;
      else arrived += whole ? LANES : popcount(here);
      if (here !== 0 && !whole) missing = true;
    }
    if (arrived === 0) return;
    if (barrier.expected === 0 ? missing : arrived < barrier.expected) return;
    if (barrier.expected !== 0 && arrived > barrier.expected)
      throw new KernelError(
        "PTX_BAD_BARRIER",
        `${arrived} threads come to barrier ${id} for ${barrier.expected}`,
      );
    this.#open(id, barrier);
  }

  #open(id: number, barrier: Barrier): void {
    const { votes, voters, reduction } = barrier;
    const value =
      reduction?.kind === "popc"
        ? votes
        : Number(reduction?.kind === "and" ? votes === voters : votes > 0);
    barrier.arrived.fill(0);
    barrier.expected = 0;
    barrier.reduction = undefined;
    barrier.votes = 0;
    barrier.voters = 0;
    for (const warp of this.warps) {
      for (let lane = 0; lane < LANES; lane++) {
        if (warp.states[lane] !== WAITS_AT_BARRIER || warp.waits[lane] !== id) continue;
        const pc = warp.pcs[lane] as number;
        const own = this.code.reductions[pc];
        if (own !== undefined) warp.i32[own.result + lane] = value;
        warp.states[lane] = RUNS;
        warp.pcs[lane] = pc + 1;
      }
    }
  }

  /** A lane has exited: opens barriers that only waited for it. */
  laneExited(): void {
    for (let id = 0; id < BARRIERS; id++) this.release(id);
  }

  /** With a seed, sometimes true: then another group runs than the next in order. */
  strays(): boolean {
    const { random } = this.running;
    return random !== undefined && random() < STRAYS;
  }

  get done(): boolean {
    return this.warps.every((warp) => warp.done);
  }

  get ready(): boolean {
    return this.warps.some((warp) => warp.ready);
  }

  /** For messages: what each group of lanes waits for. */
  waiting(): readonly string[] {
    const lines = new Map<string, number>();
    for (const warp of this.warps)
      for (let lane = 0; lane < LANES; lane++) {
        const state = warp.states[lane];
        if (state === EXITED || state === RUNS) continue;
        const place = this.code.locationOf(warp.pcs[lane] as number);
        const what =
          state === WAITS_FOR_LANES
            ? `lanes of mask 0x${(warp.waits[lane] as number).toString(16)}`
            : `barrier ${warp.waits[lane]}`;
        const line = `block (${this.index.join(", ")}), line ${place.line}: %N threads wait for ${what}`;
        lines.set(line, (lines.get(line) ?? 0) + 1);
      }
    return [...lines].map(([line, n]) => line.replace("%N threads wait", threads(n)));
  }
}

const threads = (n: number): string => (n === 1 ? "1 thread waits" : `${n} threads wait`);
