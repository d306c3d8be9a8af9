import { spawn } from "node:child_process";
import { expect, onTestFinished, test } from "vitest";
import { isAlive, nameOf, openFilesOf, printable, startTimeOf } from "./processes.ts";

const NOBODY = 2 ** 22 + 1; // above the largest pid

test("a process lives under its own start time and no other: a pid may be given again", () => {
  const began = startTimeOf(process.pid) ?? 0;
  expect(isAlive(process.pid, began)).toBe(true);
  expect(isAlive(process.pid, began + 1)).toBe(false);
  expect(isAlive(NOBODY, began)).toBe(false);
});

test("a process that ended and was not waited for is gone", async () => {
  // The shell starts `true` and becomes `sleep`, which waits for nobody.
  const parent = spawn("sh", ["-c", "true & echo $!; exec sleep 60"]);
  onTestFinished(() => void parent.kill());
  const pid = await new Promise<number>((resolve) =>
    parent.stdout.once("data", (text: Buffer) => resolve(Number(text))),
  );
  await expect.poll(() => startTimeOf(pid)).toBeUndefined();
  expect(nameOf(pid)).toBe("sh");
});

test("what would act on a terminal is shown as a question mark, and other scripts are left alone", () => {
  expect(printable("serve größe 模型")).toBe("serve größe 模型");
  expect(printable("a\u001b[2J\u009b1m\nb\u202ec\u2029")).toBe("a?[2J?1m?b?c?");
});

test("open files are found by what they are, of nobody there are none", () => {
  expect(openFilesOf(process.pid, "/no such file")).toEqual([]);
  expect(openFilesOf(process.pid, "pipe:").length).toBeGreaterThan(0);
  expect(openFilesOf(NOBODY, "")).toEqual([]);
  expect(nameOf(NOBODY)).toBe("");
});
