// How many blocks of a kernel one SM holds at once, and how many SMs a launch therefore needs (Orion, section 5.2:
// sm_needed = ceil(blocks / blocks per SM)).
//
// Sources. [G] CUDA C Programming Guide, "Technical Specifications per Compute Capability" and the sections on shared
// memory of each capability. [O] NVIDIA's occupancy calculator, cuda_occupancy.h of CUDA 13.0. The arithmetic is the
// calculator's, and the tests compare both where the header is installed.
//
// The interposer asks the driver's cuOccupancyMaxActiveBlocksPerMultiprocessor. It gives the same, except for a kernel
// that asks for a smaller shared memory carve-out. Here an SM gives shared memory all that it can, as the driver does
// by default.
import { unknownCapability } from "./errors.ts";
import type { Dim3 } from "./types.ts";

/** Resources of one SM, and their allocation units. */
interface SmLimits {
  /** [G] Resident threads. A warp has 32. */
  readonly threads: number;
  /** [G] [O] Resident blocks. */
  readonly blocks: number;
  /** [G] Shared memory at the largest carve-out. */
  readonly sharedBytes: number;
  /** [G] The most shared memory that one block may have, with opt-in. */
  readonly sharedBytesPerBlock: number;
  /** [G] The part of each block's shared memory that the driver reserves, from capability 8.0 on. */
  readonly sharedBytesReserved: number;
  /** [O] A block gets shared memory in multiples of this. */
  readonly sharedBytesUnit: number;
}

const KiB = 1024;
const volta = { sharedBytesReserved: 0, sharedBytesUnit: 256 };
const ampere = { sharedBytesReserved: KiB, sharedBytesUnit: 128 };

const shared = (total: number, perBlock: number) => ({
  sharedBytes: total * KiB,
  sharedBytesPerBlock: perBlock * KiB,
});

const limits: Readonly<Record<string, SmLimits>> = {
  "7.0": { threads: 2048, blocks: 32, ...shared(96, 96), ...volta },
  "7.2": { threads: 2048, blocks: 32, ...shared(96, 96), ...volta },
  "7.5": { threads: 1024, blocks: 16, ...shared(64, 64), ...volta },
  "8.0": { threads: 2048, blocks: 32, ...shared(164, 163), ...ampere },
  "8.6": { threads: 1536, blocks: 16, ...shared(100, 99), ...ampere },
  "8.7": { threads: 1536, blocks: 16, ...shared(164, 163), ...ampere },
  "8.9": { threads: 1536, blocks: 24, ...shared(100, 99), ...ampere },
  "9.0": { threads: 2048, blocks: 32, ...shared(228, 227), ...ampere },
  "10.0": { threads: 2048, blocks: 32, ...shared(228, 227), ...ampere },
  "10.3": { threads: 2048, blocks: 32, ...shared(228, 227), ...ampere },
  "11.0": { threads: 1536, blocks: 24, ...shared(228, 227), ...ampere },
  "12.0": { threads: 1536, blocks: 24, ...shared(100, 99), ...ampere },
  "12.1": { threads: 1536, blocks: 24, ...shared(100, 99), ...ampere },
};

/** The same for every capability from 7.0 to 12.1. */
const WARP = 32;
/** [G] */
const MAX_THREADS_PER_BLOCK = 1024;
/** [G] 32-bit registers of an SM, and the most a block may have. */
const REGISTERS = 65_536;
/** [O] */
const MAX_REGISTERS_PER_THREAD = 256;
/** [O] A warp gets registers in multiples of this. */
const REGISTERS_UNIT = 256;
/** [O] An SM has four quarters. Each has a fourth of the registers, and a warp stays in one. */
const QUARTERS = 4;

/** The capabilities whose limits are known. */
export const computeCapabilities: readonly string[] = Object.keys(limits);

/** The properties of a launch that decide how many of its blocks fit. */
export interface LaunchNeeds {
  readonly block: Dim3;
  /** Registers of a thread; if left out, they do not limit. */
  readonly registers?: number;
  readonly staticSharedBytes?: number;
  readonly dynamicSharedBytes?: number;
}

export interface Occupancy {
  /** 0: the GPU refuses such a launch. */
  readonly blocksPerSm: number;
  /** Resident warps, as a part of those that an SM can hold. */
  readonly warps: number;
  /** All limits that allow no more blocks. */
  readonly limitedBy: readonly Limit[];
}

type Limit = "warps" | "blocks" | "registers" | "shared memory";

/** Throws a UserError for a compute capability that is not known. */
export function occupancy(computeCapability: string, launch: LaunchNeeds): Occupancy {
  const sm = limits[computeCapability];
  if (!sm) throw unknownCapability(computeCapability, computeCapabilities);
  const warpsPerBlock = Math.ceil(volume(launch.block) / WARP);
  const fits: Readonly<Record<Limit, number>> = {
    warps: byWarps(sm, launch, warpsPerBlock),
    blocks: sm.blocks,
    registers: byRegisters(launch, warpsPerBlock),
    "shared memory": bySharedMemory(sm, launch),
  };
  const blocksPerSm = Math.min(...Object.values(fits));
  const reached = Object.entries(fits).filter(([, fit]) => fit === blocksPerSm);
  return {
    blocksPerSm,
    warps: (blocksPerSm * warpsPerBlock) / (sm.threads / WARP),
    limitedBy: reached.map(([limit]) => limit as Limit),
  };
}

function byWarps(sm: SmLimits, { block }: LaunchNeeds, warpsPerBlock: number): number {
  if (volume(block) > MAX_THREADS_PER_BLOCK) return 0;
  return Math.floor(sm.threads / WARP / warpsPerBlock);
}

function byRegisters({ registers = 0 }: LaunchNeeds, warpsPerBlock: number): number {
  const perWarp = roundUp(registers * WARP, REGISTERS_UNIT);
  // The hardware decides whether it refuses a block as if its warps filled the quarters evenly.
  const assumed = perWarp * roundUp(warpsPerBlock, QUARTERS);
  if (registers > MAX_REGISTERS_PER_THREAD || assumed > REGISTERS) return 0;
  if (perWarp === 0) return Number.POSITIVE_INFINITY;
  const warps = Math.floor(REGISTERS / QUARTERS / perWarp) * QUARTERS;
  return Math.floor(warps / warpsPerBlock);
}

function bySharedMemory(sm: SmLimits, launch: LaunchNeeds): number {
  const given = sharedOf(sm, launch);
  if (given > sm.sharedBytesPerBlock + sm.sharedBytesReserved) return 0;
  return given === 0 ? Number.POSITIVE_INFINITY : Math.floor(sm.sharedBytes / given);
}

function sharedOf(sm: SmLimits, launch: LaunchNeeds): number {
  const asked = (launch.staticSharedBytes ?? 0) + (launch.dynamicSharedBytes ?? 0);
  return roundUp(asked + sm.sharedBytesReserved, sm.sharedBytesUnit);
}

/** The number of resources of an SM of which a resident block takes a part. */
export const SM_RESOURCES = 4;

/**
 * The parts of an SM's warps, blocks, registers and shared memory that one resident block takes. Blocks of several
 * kernels fit on an SM together if no part sums to more than 1. Throws as `occupancy` does.
 */
export function partsOfSm(computeCapability: string, launch: LaunchNeeds): readonly number[] {
  const sm = limits[computeCapability];
  if (!sm) throw unknownCapability(computeCapability, computeCapabilities);
  const warps = Math.ceil(volume(launch.block) / WARP);
  const registers = roundUp((launch.registers ?? 0) * WARP, REGISTERS_UNIT);
  return [
    (warps * WARP) / sm.threads,
    1 / sm.blocks,
    (registers * warps) / REGISTERS,
    sharedOf(sm, launch) / sm.sharedBytes,
  ];
}

/**
 * The SMs that all blocks at once would fill, which may be more than the GPU has. One block of a kernel that ran fits
 * on an SM, so it never needs more SMs than it has blocks.
 */
export function smsNeeded(computeCapability: string, grid: Dim3, launch: LaunchNeeds): number {
  const { blocksPerSm } = occupancy(computeCapability, launch);
  return Math.ceil(volume(grid) / Math.max(blocksPerSm, 1));
}

/** The threads of a block, or the blocks of a grid. */
export const volume = ([x, y, z]: Dim3): number => x * y * z;

const roundUp = (n: number, unit: number): number => Math.ceil(n / unit) * unit;
