import { spawn } from "node:child_process";
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import {
  hasPid,
  isAlive,
  nameOf,
  openFilesOf,
  pidNamespace,
  pidsOf,
  printable,
  startTimeOf,
} from "./processes.ts";

const NOBODY = 2 ** 22 + 1; // above the largest pid

test("a process is alive under its own start time only, because a pid may be reused", () => {
  const began = startTimeOf(process.pid) ?? 0;
  expect(isAlive(process.pid, began)).toBe(true);
  expect(isAlive(process.pid, began + 1)).toBe(false);
  expect(isAlive(NOBODY, began)).toBe(false);
});

test("a pid is taken or not, whoever has it", () => {
  expect(hasPid(process.pid)).toBe(true);
  expect(hasPid(1)).toBe(true);
  expect(hasPid(NOBODY)).toBe(false);
});

test("the start time is field 22 of stat, whatever the process's name is", () => {
  const stat = readFileSync("/proc/self/stat", "utf8");
  expect(startTimeOf(process.pid)).toBe(Number(stat.replace(/^.*\) /s, "").split(" ")[19]));
});

test("a process that ended and was not waited for is gone", async () => {
  // The shell starts a process and then becomes another program, which does not wait for it.
  const parent = spawn("sh", ["-c", "sleep 60 & echo $!; exec sleep 60"]);
  onTestFinished(() => void parent.kill());
  const pid = await new Promise<number>((resolve) =>
    parent.stdout.once("data", (text: Buffer) => resolve(Number(text))),
  );
  await expect.poll(() => nameOf(parent.pid ?? 0), { timeout: 20_000 }).toBe("sleep");
  await expect.poll(() => nameOf(pid), { timeout: 20_000 }).toBe("sleep");
  expect(startTimeOf(pid)).toBeGreaterThan(0);
  process.kill(pid, "SIGKILL");
  await expect.poll(() => startTimeOf(pid), { timeout: 20_000 }).toBeUndefined();
  expect(nameOf(pid)).toBe("sleep");
});

test("a character that acts on a terminal is shown as a question mark, and other scripts are left alone", () => {
  expect(printable("serve größe 模型")).toBe("serve größe 模型");
  expect(printable("a\u001b[2J\u009b1m\nb\u202ec\u2029")).toBe("a?[2J?1m?b?c?");
});

test("open files are found by their target; a process that does not exist has none", () => {
  expect(openFilesOf(process.pid, "/no such file")).toEqual([]);
  expect(openFilesOf(process.pid, "pipe:").length).toBeGreaterThan(0);
  expect(openFilesOf(NOBODY, "")).toEqual([]);
  expect(nameOf(NOBODY)).toBe("");
});

test("open files with a given prefix are found, under paths that other processes can open", () => {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-processes-`);
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const name of ["one", "two"]) {
    writeFileSync(`${directory}/${name}`, name);
    const fd = openSync(`${directory}/${name}`, "r");
    onTestFinished(() => closeSync(fd));
  }
  const found = openFilesOf(process.pid, `${directory}/o`);
  expect(found).toEqual([expect.stringMatching(`^/proc/${process.pid}/fd/[0-9]+$`)]);
  expect(found.map((path) => readlinkSync(path))).toEqual([`${directory}/one`]);
  expect(openFilesOf(process.pid, `${directory}/`)).toHaveLength(2);
  expect(openFilesOf(process.pid, directory.slice(1))).toEqual([]);
});

test("a process has a pid in each of its PID namespaces, a process that has ended has none", () => {
  expect(pidsOf(process.pid)[0]).toBe(process.pid);
  expect(pidsOf(process.pid).every((pid) => Number.isInteger(pid) && pid > 0)).toBe(true);
  expect(pidsOf(NOBODY)).toEqual([]);
});

test("a PID namespace is known by its inode", () => {
  expect(readlinkSync("/proc/self/ns/pid")).toBe(`pid:[${pidNamespace()}]`);
});

test("a name is one line, without the line break that the kernel adds", () => {
  expect(nameOf(process.pid)).toBe(readFileSync("/proc/self/comm", "utf8").slice(0, -1));
  expect(printable("two\nlines\ttab")).toBe("two?lines?tab");
});
