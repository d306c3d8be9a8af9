// A cgroup for each machine of the tests, in every hierarchy of cgroup v1: what is started in it, with a cgroup namespace of
// its own, takes it for the root. (With v2 the root of kubelet's cgroups must have no processes, which is not done here.)
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

const ROOT = "/sys/fs/cgroup";

/** Whether this machine has cgroup v1. */
export const hasHierarchies = (): boolean => existsSync(join(ROOT, "memory/cgroup.procs"));

/** One for each controller. */
const hierarchies = (): readonly string[] =>
  readdirSync(ROOT, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "unified")
    .map(({ name }) => join(ROOT, name));

/** Makes it; returns the files into which a process writes its pid to be in it. */
export function makeCgroups(name: string): readonly string[] {
  return hierarchies().map((at) => {
    const folder = join(at, name);
    mkdirSync(folder, { recursive: true });
    // A new cpuset has no CPUs, and takes no process.
    for (const file of ["cpuset.mems", "cpuset.cpus"])
      if (existsSync(join(at, file)) && existsSync(join(folder, file)))
        writeFileSync(join(folder, file), readFileSync(join(at, file)));
    return join(folder, "cgroup.procs");
  });
}

/** Removes it with all below it, which must have no processes. */
export function removeCgroups(name: string): void {
  for (const at of hierarchies()) removeBelow(join(at, name));
}

function removeBelow(folder: string): void {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeBelow(join(folder, entry.name));
  try {
    rmdirSync(folder);
  } catch {
    // a process of it has not quite ended: an empty cgroup stays
  }
}
