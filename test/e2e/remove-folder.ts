import { rmSync } from "node:fs";

const TRIES = 40;
const PAUSE_MS = 50;

/**
 * Removes a folder in which programs that were killed may still make a file. The retries of rmSync are no help: they
 * remove the folder alone, not what has appeared in it.
 */
export function removeFolder(folder: string): void {
  for (let left = TRIES; ; left--) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY" || left === 1) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}
