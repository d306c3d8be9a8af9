// Files that a command is given to read, and to write to.
import { accessSync, constants, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { usage } from "#core";

/** `what`: for the sentence that says so when it can't be read, such as "result". */
export function readGiven(path: string, what: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw usage(`The ${what} ${path} can't be read.`);
  }
}

export const writeGiven = (path: string, content: string): void =>
  written(path, () => writeFileSync(path, content));

/** Runs what writes to `path`; a file that can't be written is said in a sentence. */
export function written<T>(path: string, write: () => T): T {
  try {
    return write();
  } catch (fault) {
    if (!(fault instanceof Error && "syscall" in fault)) throw fault;
    throw usage(`${path} can't be written: ${fault.message}.`);
  }
}

/** Throws now what writing there would only find out later, when there is something to lose. */
export function checkWritable(path: string): void {
  const folder = dirname(path);
  try {
    accessSync(folder, constants.W_OK);
  } catch {
    throw usage(`${path} can't be written: there is no folder ${folder} that you may write to.`);
  }
}

export function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
