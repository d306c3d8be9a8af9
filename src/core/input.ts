// Reads files that a user names. Files that have no end, or whose reading may never begin, are refused: the command
// would seem to do nothing.
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

/** Somewhat less than the longest string that Node can hold. */
const MAX_BYTES = 511 * 2 ** 20;
const CHUNK_BYTES = 2 ** 16;

/**
 * The bytes of a file, or of a pipe or terminal such as /dev/stdin until its end. Throws an Error that says why not.
 * `check` throws what it likes if the file that was opened must not be read.
 */
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
      if (read === 0) return Buffer.concat(chunks, bytes);
      bytes += read;
      chunks.push(chunk.subarray(0, read));
    }
  } finally {
    closeSync(fd);
  }
}

function openInput(path: string): number {
  const { O_RDONLY, O_NOCTTY, O_NONBLOCK } = constants;
  // O_NONBLOCK: otherwise opening a named pipe waits until somebody writes to it.
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
