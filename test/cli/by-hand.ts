// The command in a process of its own, and folders that go away with the test.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { onTestFinished } from "vitest";

export function temporary(): string {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-cli-`);
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export const cotenant = (args: readonly string[], env: Record<string, string> = {}) =>
  run("bin/cotenant", args, env);

export const cotenantLab = (args: readonly string[], env: Record<string, string> = {}) =>
  run("bin/cotenant-lab", args, env);

function run(program: string, args: readonly string[], env: Record<string, string>) {
  const { LD_PRELOAD: _, ...rest } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    encoding: "utf8",
    env: { ...rest, COTENANT_DIR: "/nonexistent/cotenant", ...env },
  });
  return { status, stdout, stderr };
}

/** Variables from the output of `env`. */
export const variables = (printed: string): Record<string, string> =>
  Object.fromEntries(
    printed
      .trim()
      .split("\n")
      .map((line) => line.split(/=(.*)/s, 2)),
  );
