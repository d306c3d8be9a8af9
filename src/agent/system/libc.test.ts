// The calls against the kernel itself.
import { spawnSync } from "node:child_process";
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readlinkSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import {
  createMemoryFile,
  MappedRange,
  peerOf,
  SIZE_SEALS,
  sealSize,
  sealsOf,
  sealWrites,
  tryLock,
} from "./libc.ts";

function temporary(): string {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-libc-`);
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

function memoryFile(size = 0): number {
  const fd = createMemoryFile("cotenant-test");
  onTestFinished(() => closeSync(fd));
  ftruncateSync(fd, size);
  return fd;
}

const opened = (path: string, flags: string) => {
  const fd = openSync(path, flags);
  onTestFinished(() => closeSync(fd));
  return fd;
};

test("a memory file has its name, and programs that are started do not get it", () => {
  const fd = memoryFile();
  expect(readlinkSync(`/proc/self/fd/${fd}`)).toBe("/memfd:cotenant-test (deleted)");
  const { stdout } = spawnSync("ls", ["-l", "/proc/self/fd"], { encoding: "utf8" });
  expect(stdout).not.toContain("cotenant-test");
});

test("a name that is too long is an error that names the call and the reason", () => {
  expect(() => createMemoryFile("x".repeat(300))).toThrow("memfd_create failed: EINVAL");
});

test("once its size is sealed a memory file neither grows nor shrinks, and the seals are seen", () => {
  const fd = memoryFile(4096);
  expect(sealsOf(fd)).toBe(0);
  sealSize(fd);
  expect(sealsOf(fd)).toBe(SIZE_SEALS);
  for (const size of [0, 8192]) expect(() => ftruncateSync(fd, size)).toThrow("EPERM");
  expect(() => sealSize(fd)).toThrow("fcntl(F_ADD_SEALS) failed: EPERM");
});

test("a file that can't be sealed has no seals, and to seal it is an error", () => {
  const fd = opened(`${temporary()}/file`, "w");
  expect(sealsOf(fd)).toBe(0);
  expect(() => sealSize(fd)).toThrow("fcntl(F_ADD_SEALS) failed: EINVAL");
});

test("a file in a range is shared with all who have it, and zeros are around it", () => {
  const fd = memoryFile(4096);
  const [one, other] = [new MappedRange(12288), new MappedRange(4096)];
  one.put(fd, 4096, 4096);
  other.put(fd, 0, 4096);
  new Uint8Array(one.buffer)[4096 + 100] = 42;
  expect(new Uint8Array(other.buffer)[100]).toBe(42);
  const byte = new Uint8Array(1);
  readSync(fd, byte, 0, 1, 100);
  expect(byte[0]).toBe(42);
  expect(new Uint8Array(one.buffer).reduce((sum, value) => sum + value)).toBe(42);
  expect(one.buffer.byteLength).toBe(12288);
  one.clear(4096, 4096);
  expect(new Uint8Array(one.buffer).every((value) => value === 0)).toBe(true);
  expect(new Uint8Array(other.buffer)[100]).toBe(42);
});

test("a file that can't be mapped is an error that names the size and the reason", () => {
  const fd = opened(`${temporary()}/file`, "w"); // may be written, not read
  expect(() => new MappedRange(4096).put(fd, 0, 4096)).toThrow("mmap of 4096 bytes failed: EACCES");
});

test("a file whose writes are sealed is written only through mappings that existed before", () => {
  const fd = memoryFile(4096);
  const [writer, reader] = [new MappedRange(4096), new MappedRange(4096)];
  writer.put(fd, 0, 4096);
  expect(sealWrites(fd)).toBe(true);
  new Uint8Array(writer.buffer)[7] = 42;
  reader.put(fd, 0, 4096, "read");
  expect(new Uint8Array(reader.buffer)[7]).toBe(42);
  // Another descriptor of the file cannot write either.
  const again = opened(`/proc/self/fd/${fd}`, "r+");
  for (const one of [fd, again]) {
    expect(() => new MappedRange(4096).put(one, 0, 4096)).toThrow("failed: EPERM");
    expect(() => writeSync(one, "x")).toThrow("EPERM");
  }
});

test("the process that connected a socket is known; a descriptor that is no socket has none", async () => {
  const path = `${temporary()}/socket`;
  const accepted = new Promise<Socket>((resolve) => {
    const server = createServer(resolve).listen(path, () => {
      const client = connect(path);
      onTestFinished(() => {
        client.destroy();
        server.close();
      });
    });
  });
  const socket: Socket & { readonly _handle?: { readonly fd: number } } = await accepted;
  onTestFinished(() => void socket.destroy());
  expect(peerOf(socket._handle?.fd ?? -1)).toEqual({
    pid: process.pid,
    uid: process.getuid?.(),
    gid: process.getgid?.(),
  });
  expect(peerOf(memoryFile())).toBeUndefined();
  expect(peerOf(-1)).toBeUndefined();
});

test("a lock has one holder at a time, and is free again when its file is closed", () => {
  const path = `${temporary()}/lock`;
  const first = openSync(path, "w");
  const second = opened(path, "r");
  expect([tryLock(first), tryLock(second), tryLock(first)]).toEqual([true, false, true]);
  closeSync(first);
  expect(tryLock(second)).toBe(true);
  expect(tryLock(-1)).toBe(false);
});
