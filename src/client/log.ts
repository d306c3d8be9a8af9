import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { checkDirectory, pathsIn } from "#agent";
import { errors, isFile, isReadable } from "#core";
import { findAgent, ownRunDirectory, ownUid } from "./ask.ts";

const LOOK_AGAIN_MS = 200;

export function logHere(): string {
  const found = findAgent();
  if (found) {
    const { log } = pathsIn(found.directory);
    if (!isReadable(log)) throw errors.agentOfOthers(found.agent.pid, found.directory);
    return log;
  }
  const own = ownRunDirectory();
  checkDirectory(own, ownUid());
  return pathsIn(own).log;
}

interface Place {
  readonly inode: number;
  readonly at: number;
}

export interface Read {
  readonly bytes: Buffer;
  readonly place: Place;
}

/** Reads all of a file that is another one by now. Throws a UserError if there is no log. */
export function readLog(path: string, from: Place = { inode: 0, at: 0 }): Read {
  const fd = open(path);
  try {
    const { ino: inode, size } = fstatSync(fd);
    const at = inode === from.inode && size >= from.at ? from.at : 0;
    const bytes = Buffer.alloc(size - at);
    const read = readSync(fd, bytes, 0, bytes.length, at);
    return { bytes: bytes.subarray(0, read), place: { inode, at: at + read } };
  } finally {
    closeSync(fd);
  }
}

function open(path: string): number {
  try {
    return openSync(path, "r");
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    throw missing ? errors.noLog(path) : errors.cannotRead(path, error);
  }
}

export async function* addedTo(
  path: string,
  from: Place,
  stop: AbortSignal,
): AsyncGenerator<Buffer> {
  for (let place = from; !stop.aborted; ) {
    // There is none for a moment when it was put aside.
    const read = isFile(path) ? readLog(path, place) : undefined;
    place = read?.place ?? place;
    if (read && read.bytes.length > 0) yield read.bytes;
    await pause(LOOK_AGAIN_MS, undefined, { signal: stop }).catch(() => {});
  }
}
