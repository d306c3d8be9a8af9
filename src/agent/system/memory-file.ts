// Memory files (memfd_create) that other processes have open. A descriptor of another process may refer to anything,
// and its owner may replace it at any moment. Opening a FIFO, a file with a lease or a file of a FUSE file system may
// take for ever, and so may stat. Therefore a descriptor is followed only if the kernel says that it leads to the mount
// of all memory files. Everything else is done with a descriptor of this process.
import { closeSync, constants, openSync, readFileSync } from "node:fs";
import { createMemoryFile } from "./libc.ts";

/**
 * Opens a descriptor that only names a file, which asks neither the file nor its file system. Node has no name for this
 * flag.
 */
const O_PATH = 0o10000000;

/** Opens the memory file behind `path`, such as /proc/42/fd/7; undefined if there is none, or it has a lease. */
export const openMemoryFile = (path: string, access: "read" | "write"): number | undefined =>
  withPathDescriptor(path, (fd) => {
    const { O_RDONLY, O_RDWR, O_NONBLOCK } = constants;
    // O_NONBLOCK makes the call fail instead of waiting if the file has a lease.
    return openSync(`/proc/self/fd/${fd}`, (access === "write" ? O_RDWR : O_RDONLY) | O_NONBLOCK);
  });

function withPathDescriptor<T>(path: string, use: (fd: number) => T): T | undefined {
  try {
    if (!isMemoryFile(path)) return undefined;
    const fd = openSync(path, O_PATH);
    try {
      // Checked again, because the owner may have replaced the target of `path`. Nobody can replace the target of this
      // descriptor.
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

/** From fdinfo, which the kernel writes without asking the file's file system. */
const mountOf = (path: string): string | undefined =>
  /^mnt_id:\s*(\d+)$/m.exec(readFileSync(path.replace("/fd/", "/fdinfo/"), "utf8"))?.[1];
