// Nsight Compute's CSV, `ncu --csv --page raw` (a row per launch, a second header row with units)
// or `--page details` and `--metrics …` (a row per metric of a launch). It serialises launches,
// runs each several times and flushes the caches, so durations are longer than in the job itself,
// and `soloNs` comes from elsewhere. There is no CPU time between launches, no copy and no mark.

import { badProfile } from "../model/errors.ts";
import type { WorkloadProfile } from "../model/types.ts";
import { type About, gpuOf } from "./about.ts";
import { distinct, type Launch } from "./distinct.ts";
import { type LaunchRow, readLaunches } from "./ncu-rows.ts";

export interface NcuAbout extends About {
  readonly iterations?: number;
}

/** Throws a UserError with the place. Several texts are runs of one program with other metrics. */
export function importNcu(text: string | readonly string[], about: NcuAbout): WorkloadProfile {
  const runs = [text].flat().map((one) => readLaunches(one, about.file));
  const launches = runs.length > 1 ? together(runs) : (runs[0] ?? []);
  const [first] = launches;
  if (!first) throw badProfile(about.file, "", "it holds no launch.");
  const { gpu, ridge } = gpuOf(about, {
    ...(first.says("CC") !== undefined && { computeCapability: first.text("CC") }),
    ...(first.says(DEVICE_NAME) !== undefined && { name: first.text(DEVICE_NAME) }),
    ...(first.says(DEVICE_SMS) !== undefined && { sms: first.number([DEVICE_SMS], "count") ?? 0 }),
  });
  const { kernels, of } = distinct(launches.map(launchOf), {
    computeCapability: gpu.computeCapability,
    ...(ridge !== undefined && { ridge }),
  });
  const { iterations = 1, name, kind, source, soloNs } = about;
  if (launches.length % iterations !== 0)
    throw badProfile(
      about.file,
      "",
      `its ${launches.length} launches are not ${iterations} equal iterations.`,
    );
  const sequence = of.slice(-launches.length / iterations).map((kernel) => ({ kernel }));
  return { version: 1, name, kind, gpu, source, soloNs, kernels, sequence };
}

function together(runs: readonly (readonly LaunchRow[])[]): readonly LaunchRow[] {
  const found = new Map<string, LaunchRow>();
  for (const row of runs.flat()) {
    const key = `${gridOf(row)} ${blockOf(row)} ${row.text("Kernel Name")}`;
    found.set(key, found.get(key)?.and(row) ?? row);
  }
  return [...found.values()];
}

const gridOf = (row: LaunchRow) => row.shape("Grid Size", "launch__grid_dim");
const blockOf = (row: LaunchRow) => row.shape("Block Size", "launch__block_dim");

const DEVICE_NAME = "device__attribute_display_name";
const DEVICE_SMS = "device__attribute_multiprocessor_count";

/** Figures have a name in page raw, then in page details of recent and of older versions. */
const metrics = {
  duration: ["gpu__time_duration.sum", "Duration"],
  registers: ["launch__registers_per_thread", "Registers Per Thread"],
  staticShared: ["launch__shared_mem_per_block_static", "Static Shared Memory Per Block"],
  dynamicShared: ["launch__shared_mem_per_block_dynamic", "Dynamic Shared Memory Per Block"],
  sm: [
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "Compute (SM) Throughput",
    "Compute (SM) [%]",
    "SM [%]",
  ],
  memory: [
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "Memory Throughput",
    "Memory [%]",
  ],
  dram: [
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "DRAM Throughput",
  ],
  l2Hit: ["lts__t_sector_hit_rate.pct", "L2 Hit Rate"],
} as const;

/** A throughput is the largest of its parts, which take fewer passes to measure. */
const parts = {
  sm: /^(sm|idc)__(?!throughput).*\.avg\.pct_of_peak_sustained_elapsed$/,
  memory: /^(l1tex|lts|dram|fbpa)__.*\.avg\.pct_of_peak_sustained_elapsed$/,
} as const;

const pipes = {
  fma: /^sm__pipe_fma(heavy)?_cycles_active\.avg\.pct/,
  tensor: /^sm__pipe_tensor_.*cycles_active\.avg\.pct/,
} as const;

function launchOf(row: LaunchRow): Launch {
  const grid = gridOf(row);
  const block = blockOf(row);
  const durationNs = row.number(metrics.duration, "ns");
  if (durationNs === undefined) throw row.lacks("its duration (gpu__time_duration.sum)");
  return {
    identity: {
      name: row.text("Kernel Name"),
      grid,
      block,
      ...figure("registers", row.number(metrics.registers, "count")),
      ...figure("staticSharedBytes", row.number(metrics.staticShared, "bytes")),
      ...figure("dynamicSharedBytes", row.number(metrics.dynamicShared, "bytes")),
    },
    durationNs,
    used: {
      ...figure("sm", row.number(metrics.sm, "ratio") ?? smOf(row)),
      ...figure("memory", row.number(metrics.memory, "ratio") ?? memoryOf(row)),
      ...figure("dram", row.number(metrics.dram, "ratio")),
      ...figure("l2Hit", row.number(metrics.l2Hit, "ratio")),
    },
    ...figure("flops", flopsOf(row, durationNs)),
    ...figure("bytes", bytesOf(row)),
    ...(isBelowRidge(row) && { class: "memory" }),
  };
}

/** undefined if tensor cores or other pipes were not measured: the figure would be too small. */
function smOf(row: LaunchRow): number | undefined {
  const known =
    row.largest(pipes.tensor, "ratio") !== undefined &&
    row.largest(pipes.fma, "ratio") !== undefined;
  return known ? row.largest(parts.sm, "ratio") : undefined;
}

function memoryOf(row: LaunchRow): number | undefined {
  const parted = row.largest(parts.memory, "ratio");
  const dram = row.number(metrics.dram, "ratio");
  return parted === undefined ? dram : Math.max(parted, dram ?? 0);
}

const MIN_DRAM_PART = 0.01;

/**
 * Operations were not counted. The pipe of floating-point operations is busier than these alone
 * make it, so a kernel that uses less of it than of the DRAM is left of the roofline's ridge.
 */
function isBelowRidge(row: LaunchRow): boolean {
  const fma = row.largest(pipes.fma, "ratio");
  const tensor = row.largest(pipes.tensor, "ratio");
  const dram = row.number(metrics.dram, "ratio");
  return (
    fma !== undefined && dram !== undefined && tensor === 0 && dram >= MIN_DRAM_PART && fma < dram
  );
}

const figure = <Key extends string>(key: Key, value: number | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { readonly [K in Key]?: number };

/**
 * A kernel on the tensor cores has hardly any fp32 operations, and the fp32 roofline would call a
 * matrix multiplication memory-bound: it is undefined then, and the utilisations decide.
 */
function flopsOf(row: LaunchRow, durationNs: number): number | undefined {
  if (tensorPipe.some((metric) => (row.number([metric], "any") ?? 0) > 0)) return undefined;
  const perSecond = row.number(["smsp__cycles_elapsed.avg.per_second"], "hz");
  const cycles = perSecond === undefined ? undefined : (perSecond * durationNs) / 1e9;
  const count = (op: string) => {
    const total = row.number([`${op}.sum`], "any");
    const perCycle = row.number([`${op}.sum.per_cycle_elapsed`], "any");
    return (
      total ?? (perCycle === undefined || cycles === undefined ? undefined : perCycle * cycles)
    );
  };
  const adds = count("smsp__sass_thread_inst_executed_op_fadd_pred_on");
  const multiplies = count("smsp__sass_thread_inst_executed_op_fmul_pred_on");
  const fmas = count("smsp__sass_thread_inst_executed_op_ffma_pred_on");
  if (adds === undefined || multiplies === undefined || fmas === undefined) return undefined;
  return adds + multiplies + 2 * fmas;
}

const tensorPipe = [
  "sm__inst_executed_pipe_tensor.sum",
  "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
  "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
  "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
];

function bytesOf(row: LaunchRow): number | undefined {
  const both = row.number(["dram__bytes.sum"], "bytes");
  if (both !== undefined) return both;
  const read = row.number(["dram__bytes_read.sum"], "bytes");
  const written = row.number(["dram__bytes_write.sum"], "bytes");
  return read === undefined || written === undefined ? undefined : read + written;
}
