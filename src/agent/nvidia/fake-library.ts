// Tests of bindings use it: the library exists while the test runs.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { onTestFinished } from "vitest";

export function fakeLibrary(name: string, source: string): string {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-fake-`);
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = `${directory}/${name}`;
  const { stderr, status } = spawnSync("g++", ["-shared", "-fPIC", "-x", "c++", "-", "-o", path], {
    input: source,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return path;
}
