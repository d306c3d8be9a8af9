// Each launch configuration (kernel, grid, block) is measured once, in 13 passes of some 30 ms on
// an H200. All other launches run at nearly their own speed.
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { runToEnd } from "./child.ts";

const SAMPLES = 1;

/** Names beyond this length do not fit on a command line and wait for the next run. */
const MAX_FILTER_CHARACTERS = 100_000;

/** ncu may be here without being on the PATH. */
const USUAL_FOLDER = "/usr/local/cuda/bin";

const OPERATIONS = "smsp__sass_thread_inst_executed_op";
const OF_PEAK = "avg.pct_of_peak_sustained_elapsed";

const ALWAYS = [
  "gpu__time_duration.sum",
  "launch__registers_per_thread",
  "launch__shared_mem_per_block_static",
  "launch__shared_mem_per_block_dynamic",
  "device__attribute_display_name",
  "device__attribute_multiprocessor_count",
];

export const METRICS: readonly string[] = [
  `sm__throughput.${OF_PEAK}`,
  `gpu__compute_memory_throughput.${OF_PEAK}`,
  `gpu__dram_throughput.${OF_PEAK}`,
  "lts__t_sector_hit_rate.pct",
  "dram__bytes.sum",
  "sm__inst_executed_pipe_tensor.sum",
  `${OPERATIONS}_fadd_pred_on.sum`,
  `${OPERATIONS}_fmul_pred_on.sum`,
  `${OPERATIONS}_ffma_pred_on.sum`,
];

export function findNcu(env: NodeJS.ProcessEnv): string | undefined {
  const folders = [...(env.PATH ?? "").split(delimiter).filter(Boolean), USUAL_FOLDER];
  return folders.map((folder) => join(folder, "ncu")).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface Sampling {
  readonly ncu: string;
  readonly log: string;
  readonly names: readonly string[];
  readonly metrics: readonly string[];
  readonly seconds: number;
  readonly progress: (seconds: number) => void;
}

export type Sampled =
  | { readonly kind: "whole" | "cut" | "interrupted" }
  | { readonly kind: "failed"; readonly why: string };

export async function sampleWithNcu(
  command: readonly [string, ...string[]],
  { ncu, log, names, metrics, seconds, progress }: Sampling,
): Promise<Sampled> {
  const filter = names.length > 0 ? ["--kernel-name", `regex:${patternOf(names)}`] : [];
  const ended = await runToEnd(
    [
      ...([ncu, "--csv", "--page", "raw"] as const),
      // Includes the program's children, for launcher scripts.
      ...["--target-processes", "all", "--clock-control", "none"],
      ...["--filter-mode", "per-launch-config", "--launch-count", String(SAMPLES)],
      // The interposer names kernels so, too.
      ...["--kernel-name-base", "mangled", "--print-kernel-base", "mangled"],
      ...["--metrics", [...ALWAYS, ...metrics].join(","), ...filter, "--log-file", log, ...command],
    ],
    { env: { ...process.env, COTENANT_OFF: "1" }, seconds, wraps: true, progress },
  );
  if (ended.interrupted) return { kind: "interrupted" };
  if (!hasLaunches(log))
    return { kind: "failed", why: complaintIn(log) ?? `it ended with ${ended.how}` };
  return { kind: ended.late ? "cut" : "whole" };
}

function patternOf(names: readonly string[]): string {
  let [taken, characters] = [0, 0];
  for (const name of names) {
    characters += name.length + 1;
    if (taken > 0 && characters > MAX_FILTER_CHARACTERS) break;
    taken++;
  }
  const escaped = names.slice(0, taken).map((name) => name.replace(/[.$^*+?()[\]{}|\\]/g, "\\$&"));
  return `^(${escaped.join("|")})$`;
}

export const hasLaunches = (log: string): boolean => /^"\d+",/m.test(textOf(log));

const textOf = (log: string) => (existsSync(log) ? readFileSync(log, "utf8") : "");

/** "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission …" */
const complaintIn = (log: string): string | undefined =>
  /^==ERROR== (.*)$/m.exec(textOf(log))?.[1] ??
  /^==WARNING== (No kernels.*)$/m.exec(textOf(log))?.[1];
