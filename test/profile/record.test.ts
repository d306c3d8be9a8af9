// `cotenant profile record` by its own command line, on the software GPU.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";

const directory = mkdtempSync(join(tmpdir(), "cotenant-record-test-"));
afterAll(() => rmSync(directory, { recursive: true }));

const program = ["node", "--import", "tsx", "src/cli/main.ts"];
const load = [...program, "load", "--kernels", "5", "--kernel-us", "300", "--warmup", "0.1"];

function cotenant(...args: readonly string[]) {
  const [node = "", ...rest] = program;
  const gpu = mkdtempSync(join(directory, "gpu-"));
  const env = {
    ...process.env,
    LD_LIBRARY_PATH: "build/native/softgpu",
    COTENANT_SOFTGPU_DIR: gpu,
    TMPDIR: directory,
  };
  return spawnSync(node, [...rest, ...args], { encoding: "utf8", env });
}

const record = (name: string, command: readonly string[], ...options: readonly string[]) =>
  cotenant(
    ...["profile", "record", "--kind", "training", "--name", name, ...options],
    ...["--out", join(directory, "profiles"), "--", ...command],
  );

const profiles = () => readdirSync(join(directory, "profiles"));

test("an unmodified program's iterations become a profile", () => {
  const command = [...load, "--arrivals", "closed", "--seconds", "1"];
  const { status, stdout, stderr } = record("be", command);
  expect({ status, stderr }).toMatchObject({ status: 0 });
  expect(stdout).toMatch(/be, training on Cotenant Software GPU; 5 kernels, 1 distinct/);
  const [file = ""] = profiles();
  const profile = JSON.parse(readFileSync(join(directory, "profiles", file), "utf8"));
  expect(profile).toMatchObject({ name: "be", kind: "training", source: command.join(" ") });
});

test("a program that would not end is told to, and its recording kept", () => {
  const command = [...load, "--arrivals", "closed", "--seconds", "3600"];
  expect(record("endless", command, "--seconds", "4")).toMatchObject({ status: 0 });
  expect(profiles().some((file) => file.startsWith("endless"))).toBe(true);
});

test("says in one sentence what went wrong, and leaves nothing behind", () => {
  expect(record("none", ["true"]).stderr).toMatch(
    /\ncotenant: true ended \(status 0\) without a recording: it used no GPU, or was killed\./,
  );
  expect(record("none", ["no-such-program"]).stderr).toMatch(
    /\ncotenant: Cannot run "no-such-program": .*\n$/,
  );
  expect(cotenant("profile", "record", "--kind", "training").stderr).toBe(
    'cotenant: "profile record" needs a COMMAND. "cotenant profile record --help" shows its use.\n',
  );
  expect(readdirSync(directory).filter((name) => name.startsWith("cotenant-record-"))).toEqual([]);
});
