// Sources are NVIDIA's data sheets and white papers ("NVIDIA Tesla V100 GPU Architecture", 2017;
// "Turing GPU Architecture", 2018; "A100 Tensor Core GPU Architecture", 2020; "H100 Tensor Core GPU
// Architecture", 2022; the data sheets of T4 and H200). All are SXM boards except the T4. Base
// clocks are the driver's defaults, and the H200's L2 is what its driver reports.

export interface GpuDescription {
  readonly short: string;
  readonly names: readonly [string, ...string[]];
  readonly computeCapability: string;
  readonly sms: number;
  /** An SM starts so many FMAs per clock in fp32: they are its "CUDA cores". */
  readonly fp32Lanes: number;
  /** The peak at the boost clock; an FMA counts as two. */
  readonly fp32Flops: number;
  /** It is for dense 16 bits: bf16, or fp16 before Ampere. Hopper has it at 1,830 MHz. */
  readonly tensorFlops: number;
  readonly dramBytesPerSecond: number;
  readonly l2Bytes: number;
  readonly memoryBytes: number;
  readonly baseClockMHz?: number;
  readonly boostClockMHz: number;
  /** It counts one direction, before protocol overhead. */
  readonly pcieBytesPerSecond: number;
}

const MiB = 2 ** 20;
const GiB = 2 ** 30;
const pcie3x16 = 15.75e9;
const pcie4x16 = 31.5e9;
const pcie5x16 = 63e9;

export const gpus: readonly GpuDescription[] = [
  {
    short: "V100",
    names: ["Tesla V100-SXM2-16GB"],
    computeCapability: "7.0",
    sms: 80,
    fp32Lanes: 64,
    fp32Flops: 15.7e12,
    tensorFlops: 125e12,
    dramBytesPerSecond: 900e9,
    l2Bytes: 6 * MiB,
    memoryBytes: 16 * GiB,
    baseClockMHz: 1312,
    boostClockMHz: 1530,
    pcieBytesPerSecond: pcie3x16,
  },
  {
    short: "V100-32GB",
    names: ["Tesla V100-SXM2-32GB", "Tesla V100-SXM2-32GB-LS"],
    computeCapability: "7.0",
    sms: 80,
    fp32Lanes: 64,
    fp32Flops: 15.7e12,
    tensorFlops: 125e12,
    dramBytesPerSecond: 900e9,
    l2Bytes: 6 * MiB,
    memoryBytes: 32 * GiB,
    baseClockMHz: 1290,
    boostClockMHz: 1530,
    pcieBytesPerSecond: pcie3x16,
  },
  {
    short: "T4",
    names: ["Tesla T4"],
    computeCapability: "7.5",
    sms: 40,
    fp32Lanes: 64,
    fp32Flops: 8.1e12,
    tensorFlops: 65e12,
    dramBytesPerSecond: 320e9,
    l2Bytes: 4 * MiB,
    memoryBytes: 16 * GiB,
    baseClockMHz: 585,
    boostClockMHz: 1590,
    pcieBytesPerSecond: pcie3x16,
  },
  {
    short: "A100",
    names: ["NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB"],
    computeCapability: "8.0",
    sms: 108,
    fp32Lanes: 64,
    fp32Flops: 19.5e12,
    tensorFlops: 312e12,
    dramBytesPerSecond: 1555e9,
    l2Bytes: 40 * MiB,
    memoryBytes: 40 * GiB,
    baseClockMHz: 1095,
    boostClockMHz: 1410,
    pcieBytesPerSecond: pcie4x16,
  },
  {
    short: "A100-80GB",
    names: ["NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB", "A100-SXM-80GB"],
    computeCapability: "8.0",
    sms: 108,
    fp32Lanes: 64,
    fp32Flops: 19.5e12,
    tensorFlops: 312e12,
    dramBytesPerSecond: 2039e9,
    l2Bytes: 40 * MiB,
    memoryBytes: 80 * GiB,
    baseClockMHz: 1275,
    boostClockMHz: 1410,
    pcieBytesPerSecond: pcie4x16,
  },
  {
    short: "H100",
    names: ["NVIDIA H100 80GB HBM3"],
    computeCapability: "9.0",
    sms: 132,
    fp32Lanes: 128,
    fp32Flops: 66.9e12,
    tensorFlops: 989.4e12,
    dramBytesPerSecond: 3350e9,
    l2Bytes: 50 * MiB,
    memoryBytes: 80 * GiB,
    boostClockMHz: 1980,
    pcieBytesPerSecond: pcie5x16,
  },
  {
    short: "H200",
    names: ["NVIDIA H200"],
    computeCapability: "9.0",
    sms: 132,
    fp32Lanes: 128,
    fp32Flops: 66.9e12,
    tensorFlops: 989.4e12,
    dramBytesPerSecond: 4800e9,
    l2Bytes: 60 * MiB,
    memoryBytes: 141e9,
    boostClockMHz: 1980,
    pcieBytesPerSecond: pcie5x16,
  },
];

/** It is undefined for a GPU that is not described, and for a slice of one (MIG). */
export const gpuNamed = (name: string): GpuDescription | undefined =>
  gpus.find(({ short, names }) => short === name || names.includes(name));

/** An fp32 kernel of this many FLOPs per byte of DRAM traffic uses both peaks. */
export const ridgePoint = (gpu: GpuDescription): number => gpu.fp32Flops / gpu.dramBytesPerSecond;
