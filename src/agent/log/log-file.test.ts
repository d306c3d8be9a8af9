import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { appendToLog, asideOf } from "./log-file.ts";

test("a log never takes more than twice 4 MiB and a line, however long its agent runs", () => {
  const folder = mkdtempSync(`${tmpdir()}/cotenant-log-`);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = `${folder}/agent.log`;
  appendToLog(path, "first");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const { ino } = statSync(path);
  truncateSync(path, 4 * 2 ** 20 + 1);
  appendToLog(path, "second");
  expect(readFileSync(path, "utf8")).toBe("second\n");
  expect(readFileSync(asideOf(path), "utf8")).toMatch(/^first\n/);
  expect(statSync(asideOf(path)).mode & 0o777).toBe(0o600);
  // The agent's stderr is the same file still.
  expect(statSync(path).ino).toBe(ino);
  truncateSync(path, 4 * 2 ** 20 + 1);
  appendToLog(path, "third");
  expect(readFileSync(asideOf(path), "utf8")).toMatch(/^second\n/);
});
