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
export const SIZE_SEALS = 1 | 2 | 4;
const F_SEAL_FUTURE_WRITE = 16;

const errorOf = (call: string) => `${call} failed: ${getSystemErrorName(-koffi.errno())}`;

function check(result: number, call: string): number {
  if (result < 0) throw new Error(errorOf(call));
  return result;
}

export const createMemoryFile = (name: string): number =>
  check(memfdCreate(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), "memfd_create");

export const sealSize = (fd: number): void =>
  void check(fcntl(fd, F_ADD_SEALS, "int", SIZE_SEALS), "fcntl(F_ADD_SEALS)");

/** Afterwards only existing mappings can write. Returns false before Linux 5.1. */
export const sealWrites = (fd: number): boolean =>
  fcntl(fd, F_ADD_SEALS, "int", F_SEAL_FUTURE_WRITE) === 0;

export const sealsOf = (fd: number): number => Math.max(0, fcntl(fd, F_GET_SEALS, "int", 0));

/** Unmapping waits until the buffer is collected, because a read of it would fault. */
const dropped = new FinalizationRegistry<{ readonly address: unknown; readonly size: number }>(
  ({ address, size }) => void unmapMemory(address, size),
);

export class MappedRange {
  readonly buffer: ArrayBuffer;
  readonly address: bigint;

  constructor(size: number) {
    const given = mapOrThrow(null, size, PROT_READ_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    this.address = BigInt.asUintN(64, BigInt(given));
    this.buffer = koffi.view(given, size);
    dropped.register(this.buffer, { address: given, size });
  }

  put(fd: number, offset: number, size: number, access: "read" | "write" = "write"): void {
    const rights = access === "write" ? PROT_READ_WRITE : PROT_READ;
    mapOrThrow(this.address + BigInt(offset), size, rights, MAP_SHARED | MAP_FIXED, fd);
  }

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

export interface Peer {
  readonly pid: number;
  readonly uid: number;
  readonly gid: number;
}

/** Returns undefined if that process is in a PID namespace that is not visible from here. */
export function peerOf(fd: number): Peer | undefined {
  const credentials = new Int32Array(3); // pid, uid, gid
  const size = new Uint32Array([credentials.byteLength]);
  const known = socketOption(fd, SOL_SOCKET, SO_PEERCRED, credentials, size) === 0;
  const [pid = 0, uid = 0, gid = 0] = credentials;
  return known && pid !== 0 ? { pid, uid, gid } : undefined;
}

/**
 * The descriptor refers to the process even if its pid is reused. The caller closes it. "ended":
 * the process was waited for. undefined: before Linux 6.5.
 */
export function peerDescriptorOf(fd: number): number | "ended" | undefined {
  const descriptor = new Int32Array([-1]);
  const size = new Uint32Array([descriptor.byteLength]);
  if (socketOption(fd, SOL_SOCKET, SO_PEERPIDFD, descriptor, size) === 0) return descriptor[0];
  return koffi.errno() === ENOPROTOOPT ? undefined : "ended";
}

/** The kernel adds its own bytes to each message, so it counts about twice the bytes. */
export const limitUnread = (fd: number, bytes: number): void =>
  void setSocketOption(fd, SOL_SOCKET, SO_SNDBUF, new Int32Array([bytes]), 4);

/** Returns false if another process holds the lock; the kernel frees it when this one ends. */
export const tryLock = (fd: number): boolean => fileLock(fd, LOCK_EXCLUSIVE_NOW) === 0;

/** True even with data left to read; false if the other end only sends no more. */
export function hasHungUp(fd: number): boolean {
  const polled = new Int32Array([fd, 0]); // struct pollfd: fd, events, revents
  pollCall(polled, 1, 0);
  return (((polled[1] ?? 0) >>> 16) & (POLLERR | POLLHUP | POLLNVAL)) !== 0;
}

export const endWithParent = (): void => void processControl(PR_SET_PDEATHSIG, SIGKILL);
