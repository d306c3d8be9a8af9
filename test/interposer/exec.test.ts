// Programs that a client starts with an LD_PRELOAD of their own, as launchers of inference servers and trainers do.
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { environment, native, sanitizer } from "../native.ts";

const library = `${native}/libcotenant.so`;
const OTHER = "/usr/lib/x86_64-linux-gnu/libm.so.6";

/** LD_PRELOAD of a program that Python starts. */
function preloadOf(script: string, variables: Readonly<Record<string, string>> = {}): string {
  const env = { ...environment(library), COTENANT_CLASS: "best-effort", ...variables };
  const code = `import os, subprocess, sys\nsay = ["sh", "-c", "echo $LD_PRELOAD"]\nother = dict(os.environ, LD_PRELOAD="${OTHER}")\n${script}`;
  return execFileSync("python3", ["-c", code], { encoding: "utf8", env }).trim();
}

// A sanitizer's runtime would be missing in the started program.
test.skipIf(sanitizer).each([
  ["os.environ, and execv", "os.environ.update(other); os.execv('/bin/sh', say)"],
  ["os.environ, and a child", "os.environ.update(other); subprocess.run(say)"],
  ["the variables of execve", "os.execve('/bin/sh', say, other)"],
  ["the variables of a child", "subprocess.run(say, env=other)"],
  ["the variables of posix_spawn", "os.waitpid(os.posix_spawn('/bin/sh', say, other), 0)"],
  ["the variables of posix_spawnp", "os.waitpid(os.posix_spawnp('sh', say, other), 0)"],
  ["a shell", `os.execv('/bin/sh', ["sh", "-c", "LD_PRELOAD=${OTHER} sh -c 'echo $LD_PRELOAD'"])`],
  ["env, by execvp", `os.execv('/usr/bin/env', ["env", "LD_PRELOAD=${OTHER}"] + say)`],
])("a client that replaces LD_PRELOAD in %s keeps the library", (_, script) => {
  expect(preloadOf(script)).toBe(`${library}:${OTHER}`);
});

test.skipIf(sanitizer).each([
  ["is removed", "os.environ.pop('LD_PRELOAD'); subprocess.run(say)", {}, ""],
  ["is as it was", "subprocess.run(say)", {}, library],
  [
    "is replaced where Cotenant is off",
    "subprocess.run(say, env=other)",
    { COTENANT_OFF: "1" },
    OTHER,
  ],
  [
    "is replaced in what is no client",
    "subprocess.run(say, env=other)",
    { COTENANT_CLASS: "" },
    OTHER,
  ],
])("an LD_PRELOAD that %s stays so", (_, script, variables, preload) => {
  expect(preloadOf(script, variables)).toBe(preload);
});
