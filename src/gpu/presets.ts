// The GPUs that can be modelled: what #profile says of them, and how they behave when shared. Where nothing
// was measured for a GPU, it gets the H200's figure, which is then a guess.
//
// Sources. [H] docs/results/hardware.md, one H200, driver 580. [M] the H200 measured before: 1,980 MHz nearly
// idle, 1,470 to 1,560 MHz at 690 W under a bf16 matrix load. [D] NVIDIA's driver: default time slice
// 1,024 us. [B] bandwidth that a copy on the device reaches of the data sheet's: V100-16GB 790 of 900 GB/s
// (paranumal.com, "Rough-n-Ready Roofline: NVIDIA V100 edition", 2018), H200 4.3 of 4.8 TB/s; H100 taken like the
// H200, T4 and A100 like the V100. [A] assumed.
import { type GpuDescription, gpuNamed } from "#profile";
import { unknownModel } from "./errors.ts";

export interface GpuModel {
  readonly description: GpuDescription;
  /** What can be reached of DRAM's peak bandwidth. */
  readonly dramReachable: number;
  /** What all SMs would draw if each drew what one does that is alone, of what can be reached. */
  readonly smOversupply: number;
  readonly slices: Slices;
  readonly border: BorderTimes;
  readonly link: LinkModel;
  /** Left out: the clock does not change. */
  readonly power?: PowerModel;
  /** Between the end of a kernel and the start of the next in its stream: others may take the SMs. */
  readonly handoverNs: number;
  /** Under MPS a kernel begins so much later after the one before. */
  readonly mpsNs: number;
  /** CPU time of one launch. */
  readonly launchNs: number;
  /** SMs of a green context come in multiples of it. */
  readonly partitionUnit: number;
}

/** How contexts take turns where there is no MPS. */
export interface Slices {
  /** They follow each other, whether another context waits or not. */
  readonly sliceNs: number;
  /** Work that comes after so long without any begins one. */
  readonly standNs: number;
  /** From a context that has nothing left to run. */
  readonly switchNs: number;
  /** From one in the middle of kernels. */
  readonly preemptNs: number;
  /** A context with no more kernels than these in its queue is left when they are done. */
  readonly shallow: number;
}

interface BorderTimes {
  /** GPU time of {write a mark; wait for a word} when the word is open. */
  readonly borderNs: number;
  readonly markNs: number;
  /** From the store that opens the word until the next kernel runs. */
  readonly resumeNs: number;
  /** CPU time of putting it into the stream. */
  readonly cpuNs: number;
  /** Launches that fit into a driver's queue. */
  readonly queueDepth: number;
}

export interface LinkModel {
  /** Each way. */
  readonly bytesPerSecond: number;
  readonly latencyNs: number;
  /** Speed of each way when both are busy. */
  readonly bothWays: number;
}

export interface PowerModel {
  readonly maxMHz: number;
  readonly minMHz: number;
  readonly idleW: number;
  readonly limitW: number;
  /** At the highest clock with every issue slot of a bf16 matrix load used. */
  readonly fullW: number;
  /** Of that, what DRAM at its peak takes. */
  readonly dramPart: number;
  /** Power goes as the clock to this. */
  readonly exponent: number;
  readonly timeConstantNs: number;
}

/** [H] and docs/design/decisions/0007. Waits of 0.15 to 2.3 ms; 140 us a drained switch; two busy contexts lose 9.8 %, or 26 % with two kernels queued. */
const measuredSlices: Slices = {
  sliceNs: 2.1e6,
  standNs: 8e3,
  switchNs: 140e3,
  preemptNs: 210e3,
  shallow: 2,
};

/** [D] for the slice; the rest as measured on the H200. */
const olderSlices: Slices = { ...measuredSlices, sliceNs: 1.024e6 };

/** [H] */
const border: BorderTimes = {
  borderNs: 3000,
  markNs: 2000,
  resumeNs: 6500,
  cpuNs: 900,
  queueDepth: 1020,
};

/** [A] Packets cost 13 % of the data sheet's; 2 us to begin; nine tenths each when both ways are busy. */
const linkOf = ({ pcieBytesPerSecond }: GpuDescription): LinkModel => ({
  bytesPerSecond: 0.87 * pcieBytesPerSecond,
  latencyNs: 2000,
  bothWays: 0.9,
});

/** Of the clock's highest power law; between 2 and 3 where voltage follows the clock [A]. */
const EXPONENT = 2.4;
const HOPPER_LOADED_MHZ = 1515;
const HOPPER_IDLE_W = 120;
const HOPPER_LIMIT_W = 690;

/** [M] fixes the loaded point; idle power, exponent, DRAM's part and time constant are [A]. */
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
 * A graph of 811 kernels that takes 3.09 ms alone took 11.4 and 13.1 % longer in a process under MPS
 * (solo@mps in bench/results/2026-11-20-h200-bench-bert-graph+gpt2-train@*).
 */
const MPS_NS = 450;

const VOLTA_REACHES = 790 / 900;
const HOPPER_REACHES = 4.3 / 4.8;

/**
 * [H2] Bytes that one SM draws from DRAM a clock while the others are idle: 71 GB/s at 1,980 MHz, reading, whatever is in flight;
 * and what all draw together. Others are taken to draw as much a clock: what limits an SM, requests under way, is published for
 * none of them.
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

/** By the short name or the driver's; throws a UserError for a GPU that is not known. */
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

/** [H2] SMs that MPS leaves a client with such a percentage: whole pairs of them (10, 20, 30, 50 %: 12, 26, 38, 66 of 132). */
export const percentSms = ({ description: { sms } }: GpuModel, percent: number): number =>
  percent >= 100 ? sms : Math.max(2, 2 * Math.floor((sms * percent) / 200));

/** SMs that a green context asked for so many really gets. */
export const partitionSms = ({ description, partitionUnit }: GpuModel, asked: number): number =>
  Math.min(description.sms, Math.max(1, Math.ceil(asked / partitionUnit)) * partitionUnit);
