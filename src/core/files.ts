// Files that a command is given to read, and to write to.
import {
  accessSync,
  constants,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { cannotWrite, inputNotRead, usage } from "./errors.ts";
import { readInput } from "./input.ts";

/** `what`: for the sentence that says so when it can't be read, such as "result". */
export function readGiven(path: string, what: string): string {
  try {
    return readInput(path).toString();
  } catch (fault) {
    throw inputNotRead(what, path, fault);
  }
}

/** Whole or not at all: on a full disk what was there before stays. */
export const writeGiven = (path: string, content: string | Buffer): void =>
  written(path, () => {
    const there = kindOf(path);
    if (there && !there.isFile()) return writeFileSync(path, content); // such as /dev/stdout
    const target = there ? realpathSync(path) : path;
    const begun = join(dirname(target), `.cotenant-${process.pid}.part`);
    try {
      writeFileSync(begun, content);
      renameSync(begun, target);
    } finally {
      rmSync(begun, { force: true });
    }
  });

/** Runs what writes to `path`; a file that can't be written is said in a sentence, without ours beside it. */
export function written<T>(path: string, write: () => T): T {
  try {
    return write();
  } catch (fault) {
    if (!(fault instanceof Error && "syscall" in fault)) throw fault;
    throw cannotWrite(path, fault.message.replace(/, \w+ '.*$/s, ""));
  }
}

/** A folder of its own, which the caller removes. */
export function temporaryFolder(purpose: string): string {
  try {
    return mkdtempSync(join(tmpdir(), `cotenant-${purpose}-`));
  } catch (fault) {
    const why = fault instanceof Error && "code" in fault ? fault.code : fault;
    throw usage(
      `No temporary folder can be made in ${tmpdir()}: ${why}.`,
      "Set TMPDIR to a folder that you may write to.",
    );
  }
}

/** Throws now what writing there would only find out later, when there is something to lose. */
export function checkWritable(path: string): void {
  if (kindOf(path)?.isDirectory())
    throw usage(`${path} can't be written: it is a folder.`, "Give the name of a file.");
  const folder = dirname(path);
  if (!kindOf(folder)?.isDirectory() || !mayWrite(folder))
    throw usage(`${path} can't be written: there is no folder ${folder} that you may write to.`);
}

function mayWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

export const isFile = (path: string): boolean => kindOf(path)?.isFile() ?? false;

function kindOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
