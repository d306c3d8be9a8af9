// Launches a kernel. Blocks start in rising order, a few at a time, and their warps take turns. A run depends only on
// the arguments and the seed.
import { mulberry32, shuffle } from "#core";
import type { Module } from "#ptx";
import { compile, type Program } from "./compile/program.ts";
import { loadVariables } from "./loading.ts";
import { Block, type Running } from "./machine/block.ts";
import { badLaunch, deadlock, tooLong } from "./machine/errors.ts";
import { type DeviceMemory, segmentOf } from "./machine/memory.ts";
import { Warp } from "./machine/warp.ts";
import { LANES } from "./machine/warp-state.ts";
import { type Argument, packParameters } from "./parameters.ts";

export type Extent = readonly [x: number, y: number, z: number];

export interface LaunchOptions {
  /** The numbers of blocks, and of threads in a block. */
  readonly grid: Extent;
  readonly block: Extent;
  /** In bytes. */
  readonly dynamicShared?: number;
  readonly args: readonly Argument[];
  readonly memory: DeviceMemory;
  /** 0: warps take turns in order. Other seeds: in random order, with turns of random lengths. */
  readonly seed?: number;
  /** The number of blocks in flight. */
  readonly resident?: number;
  /** After this many instructions of all warps a kernel is assumed to run for ever. */
  readonly limit?: number;
  /** Called after each atomic access to global memory, with its address. */
  readonly onAtomic?: (address: number) => void;
}

export interface Launched {
  /** Executed instructions, counted by threads and by warps. */
  readonly instructions: number;
  readonly warpInstructions: number;
  /** The output of printf, one string for each call. */
  readonly printed: readonly string[];
}

const RESIDENT = 16;
const LIMIT = 50_000_000;
/** The instructions that a warp runs in one turn. */
const TURN = 256;
const MAX_THREADS = 1024;
/** The value of bytes in shared memory that no thread has written. */
const UNWRITTEN = 0xa5;

const programs = new WeakMap<Module, Map<string, Program>>();

function programOf(module: Module, kernel: string): Program {
  let known = programs.get(module);
  if (known === undefined) {
    known = new Map();
    programs.set(module, known);
  }
  let program = known.get(kernel);
  if (program === undefined) {
    program = compile(module, kernel);
    known.set(kernel, program);
  }
  return program;
}

/**
 * Runs a kernel. Throws a UserError if the kernel is wrong (out of bounds, misaligned, a trap, a hang) or has an
 * instruction that is not emulated. Memory is then as the kernel left it.
 */
export function launch(module: Module, kernel: string, options: LaunchOptions): Launched {
  const { grid, block, memory, dynamicShared = 0, resident = RESIDENT, limit = LIMIT } = options;
  const program = programOf(module, kernel);
  check(kernel, grid, block);
  const params = packParameters(program, kernel, options.args);
  const staticShared = program.shared.bytes;
  const { align } = program.shared;
  const sharedBytes =
    dynamicShared > 0 ? Math.ceil(staticShared / align) * align + dynamicShared : staticShared;
  const random = options.seed ? mulberry32(options.seed) : undefined;
  const running: Running = {
    grid,
    block,
    memory,
    params,
    paramBytes: program.params.bytes,
    sharedBytes,
    dynamicShared,
    printed: [],
    onAtomic: options.onAtomic,
    random,
    clock: 0,
  };
  const addresses = loadVariables(module, program, memory);
  const total = grid[0] * grid[1] * grid[2];
  const flying: InFlight[] = [];
  let started = 0;
  let threadInstructions = 0;

  while (started < total || flying.length > 0) {
    while (started < total && flying.length < resident)
      flying.push(startBlock(program, running, addresses, started++));
    let moved = false;
    const order = random === undefined ? flying : shuffle(flying, random);
    for (const one of order) {
      one.block.asyncCopies.some();
      const warps = random === undefined ? one.warps : shuffle(one.warps, random);
      for (const warp of warps) {
        if (!warp.ready) continue;
        moved = true;
        const before = warp.executed;
        const threadsBefore = warp.threadExecuted;
        warp.run(random === undefined ? TURN : 1 + Math.floor(random() * 2 * TURN));
        running.clock += warp.executed - before;
        threadInstructions += warp.threadExecuted - threadsBefore;
        if (running.clock > limit) throw tooLong(kernel, limit, whereIs(program, warp));
      }
    }
    if (!moved) throw deadlock(kernel, flying.flatMap((one) => one.block.waiting()).slice(0, 4));
    for (let i = flying.length - 1; i >= 0; i--) {
      const one = flying[i]?.block;
      if (one?.done !== true) continue;
      one.asyncCopies.end();
      flying.splice(i, 1);
    }
  }
  return {
    instructions: threadInstructions,
    warpInstructions: running.clock,
    printed: running.printed,
  };
}

function check(kernel: string, grid: Extent, block: Extent): void {
  for (const [what, extent] of [
    ["grid", grid],
    ["block", block],
  ] as const)
    if (!extent.every((size) => Number.isInteger(size) && size > 0))
      throw badLaunch(
        kernel,
        `its ${what} ${extent.join(" x ")} is not three whole numbers above 0`,
      );
  const threads = block[0] * block[1] * block[2];
  if (threads > MAX_THREADS)
    throw badLaunch(kernel, `a block of ${threads} threads is over ${MAX_THREADS}`);
}

const whereIs = (program: Program, warp: Warp): string => {
  const lane = warp.states.indexOf(0);
  const place = program.locationOf(warp.pcs[Math.max(lane, 0)] as number);
  return `${place.func}, line ${place.line}: ${place.text}`;
};

/** A block that has started, with its warps. */
interface InFlight {
  readonly block: Block;
  readonly warps: readonly Warp[];
}

function startBlock(
  program: Program,
  running: Running,
  addresses: ReadonlyMap<number, bigint>,
  number: number,
): InFlight {
  const [gx, gy] = running.grid;
  const index = [number % gx, Math.floor(number / gx) % gy, Math.floor(number / gx / gy)] as const;
  const shared = segmentOf(running.sharedBytes);
  shared.u8.fill(UNWRITTEN);
  const block = new Block(program, running, index, shared);
  const [bx, by, bz] = running.block;
  const threads = bx * by * bz;
  const count = Math.ceil(threads / LANES);
  const warps = Array.from({ length: count }, (_, i) => {
    const warp = new Warp(program, block, i, threads - i * LANES);
    if (program.frameBytes > 0) warp.ensureLocal(program.frameBytes, 0);
    for (const { slot, bits } of [...addresses].map(([at, value]) => ({ slot: at, bits: value })))
      warp.u64.fill(bits, slot / 2, slot / 2 + LANES);
    fillSpecials(program, warp, count);
    return warp;
  });
  block.warps = warps;
  return { block, warps };
}

const axes = "xyz";

/** Special registers that do not change while a warp runs. */
function fillSpecials(program: Program, warp: Warp, warps: number): void {
  const { running, index } = warp.block;
  const [bx, by] = running.block;
  for (const { slot, words, name } of program.specials) {
    const axis = axes.indexOf(name.slice(-1));
    const base = name.replace(/\.[xyzw]$/, "");
    for (let l = 0; l < LANES; l++) {
      const linear = warp.index * LANES + l;
      let value: number;
      switch (base) {
        case "%tid":
          value =
            [linear % bx, Math.floor(linear / bx) % by, Math.floor(linear / bx / by)][axis] ?? 0;
          break;
        case "%ntid":
          value = running.block[axis] ?? 1;
          break;
        case "%ctaid":
        case "%clusterid":
          value = index[axis] ?? 0;
          break;
        case "%nctaid":
        case "%nclusterid":
          value = running.grid[axis] ?? 1;
          break;
        case "%cluster_nctaid":
        case "%cluster_nctarank":
        case "%nsmid":
          value = 1;
          break;
        case "%laneid":
          value = l;
          break;
        case "%warpid":
          value = warp.index;
          break;
        case "%nwarpid":
          value = warps;
          break;
        case "%lanemask_eq":
          value = 1 << l;
          break;
        case "%lanemask_lt":
          value = (1 << l) - 1;
          break;
        case "%lanemask_le":
          value = (2 << l) - 1;
          break;
        case "%lanemask_gt":
          value = ~((2 << l) - 1);
          break;
        case "%lanemask_ge":
          value = ~((1 << l) - 1);
          break;
        case "%dynamic_smem_size":
          value = running.dynamicShared;
          break;
        case "%total_smem_size":
        case "%aggr_smem_size":
          value = running.sharedBytes;
          break;
        default:
          // %smid, %gridid, %cluster_ctaid, %envreg: one multiprocessor, one grid, one block a cluster.
          value = 0;
      }
      warp.i32[slot + l * words] = value;
      if (words === 2) warp.i32[slot + l * words + 1] = 0;
    }
  }
}
