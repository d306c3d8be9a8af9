// A file without an end is refused: the command would seem to do nothing.
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readlinkSync,
  readSync,
  type Stats,
} from "node:fs";
import { isatty } from "node:tty";
import { gunzipSync } from "node:zlib";

/** Node's longest string is a little longer. */
const MAX_BYTES = 511 * 2 ** 20;
const CHUNK_BYTES = 2 ** 16;

/** Unpacks what gzip packed. Throws an Error that says why not; `check` throws for a wrong file. */
export function readInput(
  path: string,
  mostBytes = MAX_BYTES,
  check: (opened: Stats) => void = () => {},
): Buffer {
  const fd = openInput(path);
  try {
    const chunks: Buffer[] = [];
    const opened = fstatSync(fd);
    check(opened);
    const { size } = opened;
    let bytes = 0;
    for (;;) {
      if (Math.max(bytes, size) > mostBytes)
        throw new Error(`it is longer than ${mostBytes / 2 ** 20} MiB`);
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const read = readSync(fd, chunk);
      if (read === 0) return unpacked(Buffer.concat(chunks, bytes), mostBytes);
      bytes += read;
      chunks.push(chunk.subarray(0, read));
    }
  } finally {
    closeSync(fd);
  }
}

function unpacked(bytes: Buffer, maxOutputLength: number): Buffer {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength });
  } catch (error) {
    const isLong = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    throw new Error(
      isLong
        ? `unpacked it is longer than ${maxOutputLength / 2 ** 20} MiB`
        : "it begins as a file of gzip does, and is damaged",
    );
  }
}

function openInput(path: string): number {
  const { O_RDONLY, O_NOCTTY, O_NONBLOCK } = constants;
  // Without O_NONBLOCK, opening a named pipe waits until somebody writes to it.
  const fd = openSync(path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
  const kind = fstatSync(fd);
  if (kind.isFile()) return fd;
  const hasEnd = kind.isFIFO()
    ? readlinkSync(`/proc/self/fd/${fd}`).startsWith("pipe:")
    : isatty(fd);
  closeSync(fd);
  if (kind.isDirectory()) throw new Error("it is a folder, no file");
  if (hasEnd) return openSync(path, O_RDONLY | O_NOCTTY);
  throw new Error(kind.isFIFO() ? "it is a named pipe, no file" : "it is a device, no file");
}
