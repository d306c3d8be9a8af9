// A cgroup for each machine of the tests, in every hierarchy of cgroup v1 or in the one of v2: what is started in it, with a
// cgroup namespace of its own, takes it for the root. With v2 a cgroup that has others below it may have no processes, so
// those of a machine are in a cgroup below its root (init.sh).
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

/** Whether this machine has only cgroup v2. */
const isUnified = (): boolean => existsSync(join(ROOT, "cgroup.controllers"));

/** Whether this machine has cgroup v1. Tests want it: v2 was not tried yet, and `beside.ts --gpu real` is for trying it. */
export const hasHierarchies = (): boolean => existsSync(join(ROOT, "memory/cgroup.procs"));

/** One for each controller with v1. */
const hierarchies = (): readonly string[] =>
  isUnified()
    ? [ROOT]
    : readdirSync(ROOT, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && entry.name !== "unified")
        .map(({ name }) => join(ROOT, name));

/** Makes it; returns the files into which a process writes its pid to be in it. */
export function makeCgroups(name: string): readonly string[] {
  if (isUnified()) {
    const controllers = readFileSync(join(ROOT, "cgroup.controllers"), "utf8").trim().split(" ");
    writeFileSync(
      join(ROOT, "cgroup.subtree_control"),
      controllers.map((one) => `+${one}`).join(" "),
    );
    mkdirSync(join(ROOT, name, "init"), { recursive: true });
  }
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

/** The file by which processes join the cgroup below a machine's root, with v2. */
export const initOf = (name: string): string | undefined =>
  isUnified() ? join(ROOT, name, "init/cgroup.procs") : undefined;

const GONE_WITHIN_MS = 10_000;

/** Removes it with all below it. Its processes have been killed, and may take a moment to end. */
export async function removeCgroups(name: string): Promise<void> {
  const end = performance.now() + GONE_WITHIN_MS;
  // In the hierarchy of cgroup v2 beside those a container runtime may have made some, too.
  for (const at of [...hierarchies(), join(ROOT, "unified")])
    while (!removeBelow(join(at, name)) && performance.now() < end)
      await new Promise((resolve) => setTimeout(resolve, 50));
}

/** Returns whether it is gone. */
function removeBelow(folder: string): boolean {
  if (!existsSync(folder)) return true;
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeBelow(join(folder, entry.name));
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return false; // it has a process that has not ended yet
  }
}
