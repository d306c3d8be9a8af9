// Orion, section 5.2: sm_needed = ceil(blocks
//
// blocks per SM). Sources: [G] CUDA C Programming Guide, "Technical Specifications per Compute
// Capability" and the sections on shared memory of each capability. [O] NVIDIA's occupancy
// calculator, cuda_occupancy.h of CUDA 13.0, whose arithmetic this is. The driver's
// cuOccupancyMaxActiveBlocksPerMultiprocessor gives the same, except for a kernel that asks for a
// smaller shared memory carve-out than the largest.
import { unknownCapability } from "./errors.ts";
import type { Dim3 } from "./types.ts";

/** [G] has these, [O] the unit. Shared memory is at the largest carve-out, or with opt-in. */
interface SmLimits {
  readonly threads: number;
  readonly blocks: number;
  readonly sharedBytes: number;
  readonly sharedBytesPerBlock: number;
  /** The driver reserves this part of each block's shared memory from capability 8.0 on. */
  readonly sharedBytesReserved: number;
  /** A block gets shared memory in multiples of this. */
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

const WARP = 32;
const MAX_THREADS_PER_BLOCK = 1024;
/** [G] 32-bit registers of an SM, and the most a block may have. */
const REGISTERS = 65_536;
const MAX_REGISTERS_PER_THREAD = 256;
/** [O] A warp gets registers in multiples of this. */
const REGISTERS_UNIT = 256;
/** [O] An SM has four quarters. Each has a fourth of the registers, and a warp stays in one. */
const QUARTERS = 4;

export const computeCapabilities: readonly string[] = Object.keys(limits);

export interface LaunchNeeds {
  readonly block: Dim3;
  readonly registers?: number;
  readonly staticSharedBytes?: number;
  readonly dynamicSharedBytes?: number;
}

export interface Occupancy {
  /** 0 means that the GPU refuses such a launch. */
  readonly blocksPerSm: number;
  readonly warps: number;
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

export const SM_RESOURCES = 4;

/** Blocks of several kernels fit on an SM together if no part sums to more than 1. */
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

/** The GPU may have fewer. A kernel that ran never needs more SMs than it has blocks. */
export function smsNeeded(computeCapability: string, grid: Dim3, launch: LaunchNeeds): number {
  const { blocksPerSm } = occupancy(computeCapability, launch);
  return Math.ceil(volume(grid) / Math.max(blocksPerSm, 1));
}

export const volume = ([x, y, z]: Dim3): number => x * y * z;

const roundUp = (n: number, unit: number): number => Math.ceil(n / unit) * unit;
