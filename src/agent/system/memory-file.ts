// Another process's descriptor may refer to anything, and its owner may replace it at any moment.
// Opening a FIFO, a file with a lease or one of a FUSE file system may take for ever, and so may
// stat. So a descriptor is followed only if it leads to the mount of all memory files.
import { closeSync, constants, openSync, readFileSync } from "node:fs";
import { createMemoryFile } from "./libc.ts";

// Such a descriptor only names a file: neither the file nor its file system is asked. Node has no
// name for the flag.
const O_PATH = 0o10000000;

export const openMemoryFile = (path: string, access: "read" | "write"): number | undefined =>
  withPathDescriptor(path, (fd) => {
    const { O_RDONLY, O_RDWR, O_NONBLOCK } = constants;
    return openSync(`/proc/self/fd/${fd}`, (access === "write" ? O_RDWR : O_RDONLY) | O_NONBLOCK);
  });

function withPathDescriptor<T>(path: string, use: (fd: number) => T): T | undefined {
  try {
    if (!isMemoryFile(path)) return undefined;
    const fd = openSync(path, O_PATH);
    try {
      // Checking again helps, because the owner can't replace the target of this descriptor.
      return isMemoryFile(`/proc/self/fd/${fd}`) ? use(fd) : undefined;
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined; // it was closed meanwhile, or this process may not open it
  }
}

let mountOfAll: string | undefined;

function isMemoryFile(path: string): boolean {
  mountOfAll ??= mountOfMemoryFiles();
  return mountOfAll !== undefined && mountOf(path) === mountOfAll;
}

function mountOfMemoryFiles(): string | undefined {
  const fd = createMemoryFile("cotenant-mount");
  try {
    return mountOf(`/proc/self/fd/${fd}`);
  } finally {
    closeSync(fd);
  }
}

/** The kernel writes fdinfo without asking the file's file system. */
const mountOf = (path: string): string | undefined =>
  /^mnt_id:\s*(\d+)$/m.exec(readFileSync(path.replace("/fd/", "/fdinfo/"), "utf8"))?.[1];
