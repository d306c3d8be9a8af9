// How fast the PTX emulator is: `npx tsx bench/ptx/emulator.ts [OUT.json]`, about half a minute. CPU time of this
// process, which runs one thread; the median of several runs.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { launch } from "#emulator";
import { parse } from "#ptx";
import { prepare } from "../../test/ptx/corpus/inputs.ts";
import { launches } from "../../test/ptx/corpus/launches/index.ts";

const KERNELS = [
  "saxpy",
  "softmax_row",
  "matmul_registers",
  "attention_online",
  "sort_bitonic",
  "matmul_batched_f64",
  "stencil_3d",
  "wgmma_stored",
];
const RUNS = 7;
/** As many times the table's blocks in x: long enough to measure. */
const REPEATS = 12;

const median = (all: readonly number[]) => [...all].sort((a, b) => a - b)[all.length >> 1] ?? 0;

const rows = KERNELS.map((kernel) => {
  const one = launches.find((row) => row.kernel === kernel);
  if (one === undefined) throw new Error(`${kernel} is not in the corpus`);
  const path = new URL(`../../test/ptx/corpus/ptx/sm_90/${one.file}.ptx`, import.meta.url);
  const module = parse(readFileSync(path, "utf8"));
  const { dynamicShared = 0, grid, block } = one;
  const { memory, args } = prepare(one);
  let instructions = 0;
  const seconds = Array.from({ length: RUNS }, () => {
    instructions = 0;
    const before = process.cpuUsage();
    for (let i = 0; i < REPEATS; i++)
      instructions += launch(module, kernel, {
        grid,
        block,
        dynamicShared,
        args,
        memory,
      }).instructions;
    const used = process.cpuUsage(before);
    return (used.user + used.system) / 1e6;
  });
  const rates = seconds.map((s) => instructions / s / 1e6);
  return {
    kernel,
    threadInstructions: instructions / REPEATS,
    millionPerSecond: Number(median(rates).toFixed(1)),
    spread: [Math.min(...rates), Math.max(...rates)].map((rate) => Number(rate.toFixed(1))),
  };
});

for (const { kernel, threadInstructions, millionPerSecond, spread } of rows)
  console.log(
    `${kernel.padEnd(20)} ${String(threadInstructions).padStart(8)} instructions ${String(millionPerSecond).padStart(7)} million/s (${spread.join(" to ")})`,
  );

const [out] = process.argv.slice(2);
if (out !== undefined) {
  const git = (...args: string[]) => execFileSync("git", args, { encoding: "utf8" }).trim();
  const document = {
    date: new Date().toISOString(),
    commit: git("rev-parse", "HEAD"),
    uncommitted: git("status", "--porcelain") !== "",
    command: `npx tsx bench/ptx/emulator.ts ${out}`,
    machine: {
      cpu: cpus()[0]?.model ?? "",
      cores: cpus().length,
      kernel: release(),
      node: process.version,
    },
    measured: "CPU time of one thread, beside other work on the machine",
    runs: RUNS,
    kernels: rows,
  };
  writeFileSync(out, `${JSON.stringify(document, undefined, 2)}\n`);
}
