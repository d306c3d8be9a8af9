import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus } from "node:os";

export interface Machine {
  readonly gpu: string;
  readonly driver: string;
  readonly cpu: string;
  readonly cpus: number;
}

export function machineOf(gpu: string, driver: string): Machine {
  const all = cpus();
  return { gpu, driver, cpu: cpuName() ?? all[0]?.model ?? "", cpus: all.length };
}

function cpuName(): string | undefined {
  try {
    return /^model name\s*:\s*(.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1];
  } catch {
    return undefined;
  }
}

/** "-dirty" follows the short hash if files changed; "unknown" without a commit. */
export function commitOf(folder: string): string {
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", folder, ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  try {
    const commit = git("rev-parse", "--short", "HEAD").trim();
    return git("status", "--porcelain", "--untracked-files=no") === "" ? commit : `${commit}-dirty`;
  } catch {
    return "unknown";
  }
}
