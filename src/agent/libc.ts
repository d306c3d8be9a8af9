// The few system calls that Node does not offer.
import koffi from "koffi";

const libc = koffi.load("libc.so.6");

const memfdCreate = libc.func("int memfd_create(const char *name, unsigned int flags)");
const fcntl = libc.func("int fcntl(int fd, int command, ...)");
const mapMemory = libc.func("void *mmap(void *at, size_t size, int, int, int fd, int64_t offset)");
const fileLock = libc.func("int flock(int fd, int operation)");

const MFD_CLOEXEC = 1;
const MFD_ALLOW_SEALING = 2;
const F_ADD_SEALS = 1033;
const F_GET_SEALS = 1034;
const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;
const MAP_FAILED = 2n ** 64n - 1n;
const LOCK_EXCLUSIVE_NOW = 2 | 4;

/** F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW: the size can never change again. */
export const SIZE_SEALS = 1 | 2 | 4;

function checked(result: number, call: string): number {
  if (result < 0) throw new Error(`${call} failed: errno ${koffi.errno()}`);
  return result;
}

/** An anonymous file in memory, close-on-exec, that may be sealed. */
export const createMemoryFile = (name: string): number =>
  checked(memfdCreate(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), "memfd_create");

export const sealSize = (fd: number): void =>
  void checked(fcntl(fd, F_ADD_SEALS, "int", SIZE_SEALS), "fcntl(F_ADD_SEALS)");

/** The seals of a memory file; 0 for any other kind of file. */
export const sealsOf = (fd: number): number => Math.max(0, fcntl(fd, F_GET_SEALS, "int", 0));

/** Shared, readable and writable, for as long as this process lives: nothing here unmaps. */
export function mapShared(fd: number, size: number): ArrayBuffer {
  const address = mapMemory(null, size, PROT_READ_WRITE, MAP_SHARED, fd, 0);
  if (BigInt.asUintN(64, BigInt(address)) === MAP_FAILED)
    throw new Error(`mmap of ${size} bytes failed: errno ${koffi.errno()}`);
  return koffi.view(address, size);
}

/** Takes the lock of an open file unless somebody holds it. Freed by the kernel with the process. */
export const tryLock = (fd: number): boolean => fileLock(fd, LOCK_EXCLUSIVE_NOW) === 0;
