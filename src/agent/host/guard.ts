// Data loaders of best-effort jobs must not take the CPUs or the memory from a service's launching
// thread (MuxFlow, section 6, uses cpuset). Both versions of cgroups are served.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { errors } from "#core";
import type { HostLimits } from "./limits.ts";

const ROOT = "/sys/fs/cgroup";
const NAME = "cotenant-best-effort";
/** cpu.shares of version 1 that equal cpu.weight 100. */
const SHARES_OF_100 = 1024;

export interface HostGuard {
  /** Moves a process and its descendants into the cgroup. Returns why that is not possible. */
  take(pid: number): string | undefined;
  close(): void;
}

type Setting = readonly [file: string, value: string];

export function openHostGuard(limits: HostLimits, root = ROOT): HostGuard {
  try {
    const folders = existsSync(`${root}/cgroup.controllers`)
      ? makeUnified(limits, root)
      : makeSeparate(limits, root);
    return {
      take: (pid) => {
        try {
          for (const one of [pid, ...descendantsOf(pid)]) move(one, folders);
        } catch (error) {
          return errors.whyOf(error);
        }
        return undefined;
      },
      close() {
        for (const folder of folders) removeEmpty(folder);
      },
    };
  } catch (error) {
    for (const part of ["", "/cpuset", "/cpu", "/memory"]) removeEmpty(`${root}${part}/${NAME}`);
    throw errors.noHostGuard(root, errors.whyOf(error));
  }
}

function makeUnified({ cpus, weight, memory }: HostLimits, root: string): readonly string[] {
  const folder = `${root}/${NAME}`;
  const settings: Setting[] = [
    ...(cpus === undefined ? [] : [["cpuset.cpus", cpus] as const]),
    ...(weight === undefined ? [] : [["cpu.weight", String(weight)] as const]),
    ...(memory === undefined ? [] : [["memory.high", String(memory)] as const]),
  ];
  const controllers = new Set(settings.map(([file]) => `+${file.split(".")[0]}`));
  writeFileSync(`${root}/cgroup.subtree_control`, [...controllers].join(" "));
  make(folder, settings);
  return [folder];
}

function makeSeparate({ cpus, weight, memory }: HostLimits, root: string): readonly string[] {
  const made: string[] = [];
  const add = (controller: string, settings: readonly Setting[]) => {
    made.push(`${root}/${controller}/${NAME}`);
    make(`${root}/${controller}/${NAME}`, settings);
  };
  if (cpus !== undefined) {
    // A cpuset of version 1 takes nobody before it has memory nodes.
    const nodes = readFileSync(`${root}/cpuset/cpuset.mems`, "utf8").trim();
    add("cpuset", [
      ["cpuset.cpus", cpus],
      ["cpuset.mems", nodes],
    ]);
  }
  if (weight !== undefined) {
    const shares = Math.max(2, Math.round((weight * SHARES_OF_100) / 100));
    add("cpu", [["cpu.shares", String(shares)]]);
  }
  // At the hard limit the kernel would end processes.
  if (memory !== undefined) add("memory", [["memory.soft_limit_in_bytes", String(memory)]]);
  return made;
}

function make(folder: string, settings: readonly Setting[]): void {
  mkdirSync(folder, { recursive: true });
  for (const [file, value] of settings) writeFileSync(`${folder}/${file}`, value);
}

function move(pid: number, folders: readonly string[]): void {
  for (const folder of folders) {
    try {
      writeFileSync(`${folder}/cgroup.procs`, String(pid));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

function descendantsOf(pid: number): readonly number[] {
  const children = threadsOf(pid).flatMap((thread) => {
    try {
      const text = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8");
      return text.split(" ").filter(Boolean).map(Number);
    } catch {
      return []; // it has ended
    }
  });
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Jobs go on in it, under the same limits; the next agent takes it over.
  }
}
