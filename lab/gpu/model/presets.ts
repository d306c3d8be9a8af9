// The GPUs that can be modelled: their description in #profile, and how they behave when shared. A GPU without
// measurements gets the H200's figure, which is then a guess.
//
// Sources. [H] docs/results/hardware.md, one H200, driver 580. [H2] bench/results/2026-11-22-h200-beside.json. [M] the
// H200 measured before: 1,980 MHz nearly idle, 1,470 to 1,560 MHz at 690 W under a bf16 matrix load. [D] NVIDIA's
// driver: default time slice 1,024 us. [B] the bandwidth that a copy on the device reaches, compared with the data
// sheet: V100-16GB 790 of 900 GB/s (paranumal.com, "Rough-n-Ready Roofline: NVIDIA V100 edition", 2018), H200 4.3 of
// 4.8 TB/s; H100 is taken to be like the H200, and T4 and A100 like the V100. [A] assumed.
import { h200 } from "#policy";
import { type GpuDescription, gpuNamed } from "#profile";
import { unknownModel } from "./errors.ts";

export interface GpuModel {
  readonly description: GpuDescription;
  /** The part of DRAM's peak bandwidth that can be reached. */
  readonly dramReachable: number;
  /**
   * DRAM bandwidth that all SMs together would draw if each drew as much as one alone, divided by what can be
   * reached.
   */
  readonly smOversupply: number;
  readonly slices: Slices;
  readonly border: BorderTimes;
  readonly link: LinkModel;
  /** Left out: the clock does not change. */
  readonly power?: PowerModel;
  /** The time between the end of a kernel and the start of the next in its stream, in which others may take the SMs. */
  readonly handoverNs: number;
  /** Under MPS, a kernel begins this much later after the one before. */
  readonly mpsNs: number;
  /** CPU time of one launch. */
  readonly launchNs: number;
  /** A green context gets SMs in multiples of this. */
  readonly partitionUnit: number;
}

/** How contexts take turns without MPS. */
export interface Slices {
  /** Slices follow each other even if no other context waits. */
  readonly sliceNs: number;
  /** Work that comes after an idle time of this length begins a new slice. */
  readonly standNs: number;
  /** A switch from a context that has nothing left to run. */
  readonly switchNs: number;
  /** A switch from a context in the middle of kernels. */
  readonly preemptNs: number;
  /** The GPU leaves a context with at most this many queued kernels when they are done. */
  readonly shallow: number;
}

interface BorderTimes {
  /** GPU time of {write a mark; wait for a word} when the word is open. */
  readonly borderNs: number;
  readonly markNs: number;
  /** From the store that clears the pause flag until the next kernel runs. */
  readonly resumeNs: number;
  /** CPU time to put a preemption point into the stream. */
  readonly cpuNs: number;
  /** The number of launches that fit into a driver's queue. */
  readonly queueDepth: number;
}

export interface LinkModel {
  /** In each direction. */
  readonly bytesPerSecond: number;
  readonly latencyNs: number;
  /** The speed of each direction while both are busy, relative to one alone. */
  readonly bothWays: number;
}

export interface PowerModel {
  readonly maxMHz: number;
  readonly minMHz: number;
  readonly idleW: number;
  readonly limitW: number;
  /** At the highest clock, with every issue slot of a bf16 matrix load used. */
  readonly fullW: number;
  /** The part of that which DRAM takes at its peak. */
  readonly dramPart: number;
  /** Power is proportional to the clock to this power. */
  readonly exponent: number;
  readonly timeConstantNs: number;
}

/**
 * [H] and docs/design/decisions/0007. Waits of 0.15 to 2.3 ms; 140 us for a switch from a drained context; two busy
 * contexts lose 9.8 %, or 26 % with two kernels queued.
 */
const measuredSlices: Slices = {
  sliceNs: 1000 * h200.sliceUs,
  standNs: 8e3,
  switchNs: 1000 * h200.switchUs,
  preemptNs: 210e3,
  shallow: 2,
};

/** [D] for the slice; the other figures are those of the H200. */
const olderSlices: Slices = { ...measuredSlices, sliceNs: 1.024e6 };

/** [H] */
const border: BorderTimes = {
  borderNs: 3000,
  markNs: 2000,
  resumeNs: 6500,
  cpuNs: 900,
  queueDepth: 1020,
};

/**
 * [A] Packets cost 13 % of the data sheet's bandwidth; a copy takes 2 us to begin; each direction runs at nine tenths
 * when both are busy.
 */
const linkOf = ({ pcieBytesPerSecond }: GpuDescription): LinkModel => ({
  bytesPerSecond: 0.87 * pcieBytesPerSecond,
  latencyNs: 2000,
  bothWays: 0.9,
});

/** [A] Between 2 and 3, because voltage follows the clock. */
const EXPONENT = 2.4;
const HOPPER_LOADED_MHZ = 1515;
const HOPPER_IDLE_W = 120;
const HOPPER_LIMIT_W = 690;

/** [M] determines the loaded point. Idle power, exponent, DRAM's part and the time constant are [A]. */
const hopperPower: PowerModel = {
  maxMHz: 1980,
  minMHz: 345,
  idleW: HOPPER_IDLE_W,
  limitW: HOPPER_LIMIT_W,
  fullW: (HOPPER_LIMIT_W - HOPPER_IDLE_W) / (HOPPER_LOADED_MHZ / 1980) ** EXPONENT,
  dramPart: 0.3,
  exponent: EXPONENT,
  timeConstantNs: 50e6,
};

/**
 * A graph of 811 kernels that takes 3.09 ms alone took 11.4 and 13.1 % longer in a process under MPS (solo@mps in
 * bench/results/2026-11-20-h200-bench-bert-graph+gpt2-train@*).
 */
const MPS_NS = 450;

const VOLTA_REACHES = 790 / 900;
const HOPPER_REACHES = 4.3 / 4.8;

/**
 * [H2] Bytes that one SM draws from DRAM in a clock while the others are idle: 71 GB/s at 1,980 MHz when reading,
 * however much is in flight. What all SMs draw together is measured too. Other GPUs are assumed to draw as much in a
 * clock, because the number of outstanding requests that limits an SM is published for none of them.
 */
const DRAWN_PER_CLOCK = 71e9 / 1980e6;
const READING_REACHES = 4.46 / 4.8;

/** [B], by #profile's short names. */
const reachable: Readonly<Record<string, number>> = {
  V100: VOLTA_REACHES,
  "V100-32GB": VOLTA_REACHES,
  T4: VOLTA_REACHES,
  A100: VOLTA_REACHES,
  "A100-80GB": VOLTA_REACHES,
  H100: HOPPER_REACHES,
  H200: HOPPER_REACHES,
};

export const modelledGpus: readonly string[] = Object.keys(reachable);

/** By the short name or the driver's. Throws a UserError for an unknown GPU. */
export function modelOf(name: string): GpuModel {
  const description = gpuNamed(name);
  const dramReachable = description && reachable[description.short];
  if (!description || dramReachable === undefined) throw unknownModel(name, modelledGpus);
  const hopper = description.computeCapability === "9.0";
  return {
    description,
    dramReachable,
    smOversupply:
      (DRAWN_PER_CLOCK * 1e6 * description.boostClockMHz * description.sms) /
      (READING_REACHES * description.dramBytesPerSecond),
    slices: hopper ? measuredSlices : olderSlices,
    border,
    link: linkOf(description),
    ...(hopper ? { power: hopperPower } : {}),
    handoverNs: 1000,
    mpsNs: MPS_NS,
    launchNs: 3200,
    partitionUnit: hopper ? 8 : 2,
  };
}

/**
 * [H2] The SMs that MPS leaves a client with such a percentage. They come in whole pairs: 10, 20, 30 and 50 % are 12,
 * 26, 38 and 66 of 132.
 */
export const percentSms = ({ description: { sms } }: GpuModel, percent: number): number =>
  percent >= 100 ? sms : Math.max(2, 2 * Math.floor((sms * percent) / 200));

/** The SMs that a green context really gets if it asks for so many. */
export const partitionSms = ({ description, partitionUnit }: GpuModel, asked: number): number =>
  Math.min(description.sms, Math.max(1, Math.ceil(asked / partitionUnit)) * partitionUnit);
