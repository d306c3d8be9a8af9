// The output of the built command, into files and pipes as a shell makes them.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { cotenantItself } from "./machine.ts";

const inShell = (script: string) => {
  const words = ["-c", `set -o pipefail; ${script}`, "bash", ...cotenantItself];
  const { status, stderr } = spawnSync("bash", words, { encoding: "utf8" });
  return { status, stderr };
};

test("output that could not be written is a failure", () => {
  const { status, stderr } = inShell('"$@" help run > /dev/full');
  expect(stderr).toMatch(/^cotenant: What was printed could not be written: ENOSPC.*\.\n$/);
  expect(status).toBe(1);
});

test.each(["true", "head -c 1"])("a reader who has seen enough (%s) is no failure", (reader) => {
  expect(inShell(`"$@" help up | ${reader}`)).toEqual({ status: 0, stderr: "" });
});
