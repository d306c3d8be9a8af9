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
import { cannotWrite, inputNotRead, UserError, usage } from "./errors.ts";
import { readInput } from "./input.ts";

/** `what` the file is, for a message. `check` throws a UserError if the file must not be read. */
export function readGiven(path: string, what: string, check?: (opened: Stats) => void): string {
  try {
    // Windows' editors begin a text with a byte order mark, which is no part of it.
    return readInput(path, undefined, check)
      .toString()
      .replace(/^\uFEFF/, "");
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw inputNotRead(what, path, error);
  }
}

export const writeGiven = (path: string, content: string | Buffer): void =>
  tryWrite(path, () => {
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

/** A failed system call becomes a UserError that names `path` and no other file. */
export function tryWrite<T>(path: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    throw cannotWrite(path, error);
  }
}

export function temporaryFolder(purpose: string): string {
  try {
    return mkdtempSync(join(tmpdir(), `cotenant-${purpose}-`));
  } catch (error) {
    const why = error instanceof Error && "code" in error ? error.code : error;
    throw usage(
      `No temporary folder can be made in ${tmpdir()}: ${why}.`,
      "Set TMPDIR to a folder that you may write to.",
    );
  }
}

/** A user learns of a path that can't be written before the result is computed. */
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

export function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

function kindOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
