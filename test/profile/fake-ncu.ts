// Stands in for Nsight Compute on the software GPU: understands the options that are used, runs the program,
// and writes what ncu 2025.3 writes to its log, two launches of each configuration. What ran it learns from the
// interposer. FAKE_NCU=refused: as on a machine whose counters are not for everybody.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const taking = ["page", "target-processes", "clock-control", "filter-mode", "launch-count"];
const named = ["kernel-name-base", "print-kernel-base", "metrics", "kernel-name", "log-file"];
const { values, tokens } = parseArgs({
  options: {
    csv: { type: "boolean" },
    ...Object.fromEntries([...taking, ...named].map((name) => [name, { type: "string" as const }])),
  },
  strict: false,
  allowPositionals: true,
  tokens: true,
});
const first = tokens.find(({ kind }) => kind === "positional")?.index ?? 0;
const [program = "", ...args] = process.argv.slice(2 + first);
const wanted = new RegExp(String(values["kernel-name"] ?? "regex:.*").replace(/^regex:/, ""));
const log = String(values["log-file"]);

interface Recording {
  readonly kernels: readonly {
    readonly name: string;
    readonly grid: readonly number[];
    readonly block: readonly number[];
  }[];
}

// A profiler waits for its program; only the program is told to end.
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => {});
const recording = join(mkdtempSync(join(tmpdir(), "fake-ncu-")), "recording.json");
spawnSync(program, args, {
  stdio: "inherit",
  env: {
    ...process.env,
    COTENANT_OFF: "0",
    LD_PRELOAD: resolve("build/native/libcotenant.so"),
    COTENANT_RECORD: recording,
  },
});
if (process.env.FAKE_NCU === "refused") {
  const text = "ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Counters";
  writeFileSync(log, `==PROF== Connected to process 1 (/p)\n==ERROR== ${text}\n`);
  process.exit(1);
}

const { kernels } = existsSync(recording)
  ? (JSON.parse(readFileSync(recording, "utf8")) as Recording)
  : { kernels: [] };
const known: readonly (readonly [name: string, unit: string, value: string])[] = [
  ["CC", "", "9.0"],
  ["device__attribute_display_name", "", "Cotenant Software GPU"],
  ["device__attribute_multiprocessor_count", "", "132"],
  ["gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%", "12.5"],
  ["gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%", "20"],
  ["gpu__time_duration.sum", "us", "1,234.5"],
  ["launch__shared_mem_per_block_dynamic", "byte/block", "0"],
  ["lts__t_sector_hit_rate.pct", "%", "77.8"],
  ["sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "81"],
  ["sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed", "%", "81"],
  ["lts__t_tag_requests.avg.pct_of_peak_sustained_elapsed", "%", "20"],
  [
    "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "%",
    "0",
  ],
];
const asked = new Set(["CC", ...String(values.metrics).split(",")]);
const columns = known.filter(([name]) => asked.has(name));
const shape = (of: readonly number[]) => `(${of.join(", ")})`;
const row = (fields: readonly string[]) => fields.map((field) => `"${field}"`).join(",");
const launches = kernels
  .filter(({ name }) => wanted.test(name))
  .flatMap((kernel) => Array.from({ length: Number(values["launch-count"]) }, () => kernel));
const rows = [
  ["ID", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device"],
  ["", "", "", "", "", "", ""],
  ...launches.map(({ name, block, grid }, id) => [
    ...[String(id), name, "1", "7", shape(block), shape(grid), "0"],
  ]),
].map((fields, i) => [...fields, ...columns.map((column) => column[Math.min(i, 2)] ?? "")]);
const body = launches.length > 0 ? rows.map(row) : ["==WARNING== No kernels were profiled."];
writeFileSync(
  log,
  ["==PROF== Connected to process 1 (/p)", ...body, "==PROF== Disconnected", ""].join("\n"),
);
