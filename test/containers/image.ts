// A stand-in for an image, which needs no registry. Each container gets a folder of its own with nothing but mount
// points, and the machine's programs and this package read-only.
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { packageRoot } from "#core";

/** Where containers find this package, for `cotenant load`. */
const PACKAGE = "/cotenant";

interface ReadOnly {
  readonly from: string;
  readonly to: string;
}

/** An empty root file system with the usual folders; its path. */
export function makeRoot(folder: string): string {
  for (const name of ["usr", "proc", "sys", "dev", "etc", "run", "tmp", "opt", PACKAGE])
    mkdirSync(join(folder, name), { recursive: true });
  chmodSync(join(folder, "tmp"), 0o1777);
  for (const name of ["bin", "sbin", "lib", "lib64"])
    symlinkSync(`usr/${name}`, join(folder, name));
  return folder;
}

export const readOnlyMounts = (): readonly ReadOnly[] => {
  const node = dirname(dirname(process.execPath));
  return [
    { from: "/usr", to: "/usr" },
    { from: packageRoot(), to: PACKAGE },
    ...(node.startsWith("/usr") ? [] : [{ from: node, to: node }]),
  ];
};

/** `cotenant load` as the first words of a container's command line. */
export const loadInside = [process.execPath, join(PACKAGE, "bin/cotenant"), "load"] as const;
