// /proc shows cgroups from where the reader's cgroup namespace begins: an agent in a container sees
// /../../NAME for a cgroup beside its own. The part before NAME is found in the machine's
// hierarchy, which must be at /sys/fs/cgroup.
import { readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { readOrNothing } from "../system/index.ts";

const V2_LINE = /^0::(\/.*)$/m;

export function namespaceBegin(mount = "/sys/fs/cgroup"): string {
  const first = pathIn(readOrNothing("/proc/1/cgroup"));
  // The machine's first process is outside every other namespace.
  if (first === undefined || !first.startsWith("/..")) return "";
  const own = pathIn(readOrNothing("/proc/self/cgroup")) ?? "/";
  const found = folderOf(process.pid, mount) ?? "";
  return own === "/" ? found : found.slice(0, -own.length);
}

/** `begin`: start of the reader's namespace. */
export const fromRoot = (text: string, begin: string): string =>
  begin === "" ? text : text.replace(V2_LINE, (_, path) => `0::${posix.join(begin, path)}`);

const pathIn = (text: string | undefined): string | undefined => V2_LINE.exec(text ?? "")?.[1];

function folderOf(pid: number, mount: string): string | undefined {
  const folders = [""];
  for (const folder of folders) {
    const pids = readOrNothing(join(mount, folder, "cgroup.procs")) ?? "";
    if (pids.split("\n").includes(`${pid}`)) return folder;
    folders.push(...foldersIn(join(mount, folder)).map((name) => `${folder}/${name}`));
  }
  return undefined;
}

function foldersIn(path: string): readonly string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return []; // it is gone
  }
}
