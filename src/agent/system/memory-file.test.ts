import { execFileSync } from "node:child_process";
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { createMemoryFile } from "./libc.ts";
import { openMemoryFile } from "./memory-file.ts";

function temporary(): string {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-memory-file-`);
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

/** An open file of this process, as others find it. */
function pathOf(fd: number): string {
  onTestFinished(() => closeSync(fd));
  return `/proc/${process.pid}/fd/${fd}`;
}

test("a memory file is opened to read, or to write as well, and is the same file", () => {
  const path = pathOf(createMemoryFile("some"));
  const writer = openMemoryFile(path, "write");
  const reader = openMemoryFile(path, "read");
  if (writer === undefined || reader === undefined) throw new Error("not opened");
  pathOf(reader);
  pathOf(writer);
  writeSync(writer, "text");
  expect(readFileSync(reader, "utf8")).toBe("text");
  expect(() => writeSync(reader, "more")).toThrow("EBADF");
});

test("a file that is not a memory file is not opened: a namesake, a pipe, a device, a directory", () => {
  const directory = temporary();
  writeFileSync(`${directory}/memfd:cotenant`, "");
  execFileSync("mkfifo", [`${directory}/pipe`]);
  const paths = [
    openSync(`${directory}/memfd:cotenant`, "r+"),
    openSync(`${directory}/pipe`, "r+"),
    openSync("/dev/null", "r+"),
    openSync(directory, "r"),
  ].map(pathOf);
  for (const path of paths) {
    expect(openMemoryFile(path, "read")).toBeUndefined();
  }
});

test("a path that is not a descriptor, or leads nowhere, is not opened", () => {
  const directory = temporary();
  symlinkSync(pathOf(createMemoryFile("some")), `${directory}/link`);
  for (const path of [`${directory}/link`, `${directory}/missing`, "/proc/self/fd/1000000", ""]) {
    expect(openMemoryFile(path, "write")).toBeUndefined();
  }
});

test("to look at a memory file leaves nothing open", () => {
  const path = pathOf(createMemoryFile("found"));
  for (let i = 0; i < 3; i++) closeSync(openMemoryFile(path, "read") ?? -1);
  const open = execFileSync("ls", [`/proc/${process.pid}/fd`], { encoding: "utf8" })
    .trim()
    .split("\n")
    .filter((fd) => {
      try {
        return /memfd:(found|cotenant-mount)/.test(readlinkSync(`/proc/self/fd/${fd}`));
      } catch {
        return false; // it was closed meanwhile
      }
    });
  expect(open).toHaveLength(1);
});
