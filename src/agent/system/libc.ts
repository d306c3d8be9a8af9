// The few system calls that Node does not offer.
import { getSystemErrorName } from "node:util";
import koffi from "koffi";

const libc = koffi.load("libc.so.6");

const memfdCreate = libc.func("int memfd_create(const char *name, unsigned int flags)");
const fcntl = libc.func("int fcntl(int fd, int command, ...)");
const mapMemory = libc.func("void *mmap(void *at, size_t size, int, int, int fd, int64_t offset)");
const unmapMemory = libc.func("int munmap(void *at, size_t size)");
const socketOption = libc.func("int getsockopt(int fd, int level, int option, void *, void *size)");
const setSocketOption = libc.func(
  "int setsockopt(int fd, int level, int option, const void *, unsigned int size)",
);
const processControl = libc.func("int prctl(int option, unsigned long)");
const pollCall = libc.func("int poll(_Inout_ int *polled, unsigned long count, int timeout)");
const fileLock = libc.func("int flock(int fd, int operation)");

const MFD_CLOEXEC = 1;
const MFD_ALLOW_SEALING = 2;
const F_ADD_SEALS = 1033;
const F_GET_SEALS = 1034;
const PROT_READ_WRITE = 3;
const PROT_READ = 1;
const MAP_SHARED = 1;
const MAP_FIXED = 16;
const MAP_ANONYMOUS = 32;
const MAP_FAILED = 2n ** 64n - 1n;
const LOCK_EXCLUSIVE_NOW = 2 | 4;
const SOL_SOCKET = 1;
const SO_SNDBUF = 7;
const SO_PEERCRED = 17;
const SO_PEERPIDFD = 77; // Linux 6.5
const POLLERR = 8;
const POLLHUP = 16;
const POLLNVAL = 32;
const ENOPROTOOPT = 92;
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

/** F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW: the size can never change again. */
export const SIZE_SEALS = 1 | 2 | 4;
const F_SEAL_FUTURE_WRITE = 16;

const errorOf = (call: string) => `${call} failed: ${getSystemErrorName(-koffi.errno())}`;

function check(result: number, call: string): number {
  if (result < 0) throw new Error(errorOf(call));
  return result;
}

/** An anonymous file in memory, close-on-exec, that may be sealed. */
export const createMemoryFile = (name: string): number =>
  check(memfdCreate(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), "memfd_create");

export const sealSize = (fd: number): void =>
  void check(fcntl(fd, F_ADD_SEALS, "int", SIZE_SEALS), "fcntl(F_ADD_SEALS)");

/** From now on, only mappings that exist already can write. False: the kernel is older than Linux 5.1. */
export const sealWrites = (fd: number): boolean =>
  fcntl(fd, F_ADD_SEALS, "int", F_SEAL_FUTURE_WRITE) === 0;

/** The seals of a memory file; 0 for any other kind of file. */
export const sealsOf = (fd: number): number => Math.max(0, fcntl(fd, F_GET_SEALS, "int", 0));

/**
 * A range is unmapped when its buffer is collected. While JavaScript could still read the buffer, unmapping would make
 * that read fault.
 */
const dropped = new FinalizationRegistry<{ readonly address: unknown; readonly size: number }>(
  ({ address, size }) => void unmapMemory(address, size),
);

/** A range of addresses into which memory files are mapped. It holds zeros where no file is mapped. */
export class MappedRange {
  readonly buffer: ArrayBuffer;
  /** For native code that uses it. Valid while something refers to `buffer`. */
  readonly address: bigint;

  constructor(size: number) {
    const given = mapOrThrow(null, size, PROT_READ_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    this.address = BigInt.asUintN(64, BigInt(given));
    this.buffer = koffi.view(given, size);
    dropped.register(this.buffer, { address: given, size });
  }

  /** Maps `size` bytes of a file, from its beginning, to `offset`. Both are whole pages. */
  put(fd: number, offset: number, size: number, access: "read" | "write" = "write"): void {
    const rights = access === "write" ? PROT_READ_WRITE : PROT_READ;
    mapOrThrow(this.address + BigInt(offset), size, rights, MAP_SHARED | MAP_FIXED, fd);
  }

  /** Maps zeros there again. */
  clear(offset: number, size: number): void {
    const flags = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED;
    mapOrThrow(this.address + BigInt(offset), size, PROT_READ_WRITE, flags, -1);
  }
}

function mapOrThrow(at: bigint | null, size: number, rights: number, flags: number, fd: number) {
  const address = mapMemory(at, size, rights, flags, fd, 0);
  if (BigInt.asUintN(64, BigInt(address)) === MAP_FAILED)
    throw new Error(errorOf(`mmap of ${size} bytes`));
  return address;
}

/** The process that connected a Unix socket, as this process sees it. */
export interface Peer {
  readonly pid: number;
  readonly uid: number;
  readonly gid: number;
}

/** undefined if that process is in a PID namespace that is not visible from here. */
export function peerOf(fd: number): Peer | undefined {
  const credentials = new Int32Array(3); // pid, uid, gid
  const size = new Uint32Array([credentials.byteLength]);
  const known = socketOption(fd, SOL_SOCKET, SO_PEERCRED, credentials, size) === 0;
  const [pid = 0, uid = 0, gid = 0] = credentials;
  return known && pid !== 0 ? { pid, uid, gid } : undefined;
}

/**
 * A descriptor that refers to the process that connected a Unix socket, even if its pid is given away later. The caller
 * closes it. "ended": that process has ended and was waited for. undefined: this kernel has no such descriptors.
 */
export function peerDescriptorOf(fd: number): number | "ended" | undefined {
  const descriptor = new Int32Array([-1]);
  const size = new Uint32Array([descriptor.byteLength]);
  if (socketOption(fd, SOL_SOCKET, SO_PEERPIDFD, descriptor, size) === 0) return descriptor[0];
  return koffi.errno() === ENOPROTOOPT ? undefined : "ended";
}

/**
 * Limits the bytes that are sent through a socket and not yet read. The kernel counts about twice the bytes, because it
 * adds its own to each message.
 */
export const limitUnread = (fd: number, bytes: number): void =>
  void setSocketOption(fd, SOL_SOCKET, SO_SNDBUF, new Int32Array([bytes]), 4);

/** Takes the lock of an open file; false if another process holds it. The kernel frees it when this process ends. */
export const tryLock = (fd: number): boolean => fileLock(fd, LOCK_EXCLUSIVE_NOW) === 0;

/**
 * Whether the other end of a Unix stream socket is closed, even where something that it sent is still to be read. False
 * where it has only said that it sends no more.
 */
export function hasHungUp(fd: number): boolean {
  const polled = new Int32Array([fd, 0]); // struct pollfd: fd, events, revents
  pollCall(polled, 1, 0);
  return (((polled[1] ?? 0) >>> 16) & (POLLERR | POLLHUP | POLLNVAL)) !== 0;
}

/** Tells the kernel to kill this process when its parent ends. */
export const endWithParent = (): void => void processControl(PR_SET_PDEATHSIG, SIGKILL);
