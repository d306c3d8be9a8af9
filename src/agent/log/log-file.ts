import {
  appendFileSync,
  closeSync,
  copyFileSync,
  fstatSync,
  openSync,
  readSync,
  statSync,
  truncateSync,
} from "node:fs";
import { type LogEntry, parseEntry } from "./log.ts";

/** In bytes. A longer log is put aside, in place of the one put aside before. */
const LOG_KEPT = 4 * 2 ** 20;

export const asideOf = (path: string) => `${path}.1`;

export function appendToLog(path: string, line: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > LOG_KEPT) {
    // A rename would take along the stderr of this process, which crashes are reported to.
    copyFileSync(path, asideOf(path));
    truncateSync(path);
  }
  appendFileSync(path, `${line}\n`, { mode: 0o600 });
}

export function isStderr(path: string): boolean {
  const [own, file] = [fstatSync(2), statSync(path, { throwIfNoEntry: false })];
  return own.dev === file?.dev && own.ino === file.ino;
}

const NEWEST = 64 * 1024;

export function newestEntries(path: string): readonly LogEntry[] {
  try {
    const fd = openSync(path, "r");
    try {
      const { size } = fstatSync(fd);
      const bytes = Buffer.alloc(Math.min(size, NEWEST));
      readSync(fd, bytes, 0, bytes.length, size - bytes.length);
      return bytes
        .toString()
        .split("\n")
        .flatMap((line) => parseEntry(line) ?? []);
    } finally {
      closeSync(fd);
    }
  } catch {
    return [];
  }
}
