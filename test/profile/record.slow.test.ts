// `cotenant profile -- COMMAND` by its own command line, on the software GPU, with a stand-in for ncu.
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { WorkloadProfile } from "#profile";

const directory = mkdtempSync(join(tmpdir(), "cotenant-profile-test-"));
afterAll(() => rmSync(directory, { recursive: true }));

const program = ["node", "bin/cotenant"];
const load = [...program, "load", "--kernels", "5", "--kernel-us", "300", "--warmup", "0.1"];
const short = [...load, "--arrivals", "closed", "--seconds", "1.5"];
const endless = [...load, "--arrivals", "closed", "--seconds", "3600"];

const tools = mkdtempSync(join(directory, "tools-"));
writeFileSync(
  join(tools, "ncu"),
  `#!/bin/sh\nexec node --import tsx ${resolve("test/profile/fake-ncu.ts")} "$@"\n`,
);
chmodSync(join(tools, "ncu"), 0o755);

const profiles = join(directory, "profiles");

function environment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return {
    ...process.env,
    LD_LIBRARY_PATH: "build/native/softgpu",
    COTENANT_SOFTGPU_DIR: mkdtempSync(join(directory, "gpu-")),
    COTENANT_PROFILES: profiles,
    TMPDIR: directory,
    ...more,
  };
}

const words = (args: readonly string[]) => [...program.slice(1), "profile", ...args];
const cotenant = (args: readonly string[], env?: NodeJS.ProcessEnv) =>
  spawnSync("node", words(args), { encoding: "utf8", env: environment(env) });

const withNcu = { PATH: `${tools}:${process.env.PATH}` };
/** Where a machine has the real one, it must not be found. */
const withoutNcu = { PATH: (process.env.PATH ?? "").replaceAll(/[^:]*cuda[^:]*/g, "/nowhere") };

const profileOf = (name: string): WorkloadProfile =>
  JSON.parse(readFileSync(join(profiles, `${name}@Cotenant+Software+GPU.json`), "utf8"));

test("an unmodified program: durations, utilisation, classes and system metrics", () => {
  const { status, stdout, stderr } = cotenant(["--name", "whole", "--", ...short], withNcu);
  expect({ status, stderr }).toMatchObject({ status: 0 });
  expect(stderr).toMatch(/1 of 2: recording.*2 of 2: ncu looks at 1 distinct kernels/s);
  expect(stdout).toMatch(
    /whole@.*json: whole, inference on Cotenant Software GPU; 5 kernels, 1 distinct.*compute 100 %/,
  );
  const profile = profileOf("whole");
  expect(profile).toMatchObject({ kind: "inference", source: short.join(" ") });
  expect(profile.kernels).toEqual([
    expect.objectContaining({ sm: 0.81, memory: 0.2, dram: 0.125, l2Hit: 0.778, class: "compute" }),
  ]);
  // Its own time, not that of ncu (1.2 ms).
  expect(profile.kernels[0]?.durationNs.p50).toBeLessThan(1_000_000);
  expect(profile.smBusy).toBeGreaterThan(0);
  expect(profile.memoryBytes).toBeGreaterThan(0);
  // Nothing is left to be done.
  expect(readdirSync(profiles).filter((file) => file.startsWith("."))).toEqual([]);
});

test("without ncu, and where it may not count, the classes are unknown; later it goes on", () => {
  const args = ["--name", "parts", "--", ...short];
  const missing = cotenant(args, withoutNcu);
  expect(missing).toMatchObject({ status: 0 });
  expect(missing.stderr).toMatch(
    /The kernels' classes are unknown: there is no ncu on the PATH; the same command goes on from here\./,
  );
  expect(profileOf("parts").kernels).toEqual([expect.objectContaining({ class: "unknown" })]);

  const refused = cotenant(args, { ...withNcu, FAKE_NCU: "refused" });
  expect(refused).toMatchObject({ status: 0 });
  expect(refused.stderr).toMatch(/what was kept of parts is used/);
  expect(refused.stderr).not.toMatch(/1 of 2/);
  expect(refused.stderr).toMatch(/are unknown: ncu: ERR_NVGPUCTRPERM - The user does not have/);

  expect(cotenant(args, withNcu)).toMatchObject({ status: 0 });
  expect(profileOf("parts").kernels).toEqual([expect.objectContaining({ class: "compute" })]);
});

test("a program that would not end is told to; one who is stopped goes on later", async () => {
  const args = ["--name", "endless", "--seconds", "3", "--", ...endless];
  const child = spawn("node", words(args), { env: environment(withNcu) });
  let [stderr, told] = ["", false];
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
    // It has begun; what there is of its launches by then counts.
    if (told || !/load: serving.*2 of 2.*load: serving/s.test(stderr)) return;
    told = true;
    child.kill("SIGTERM");
  });
  const status = await new Promise((ended) => child.on("exit", ended));
  expect({ status, stderr }).toMatchObject({ status: 1 });
  expect(stderr).toMatch(/cotenant: Stopped before the profile was whole\. The same command goes/);

  const again = cotenant(args, withNcu);
  expect(again).toMatchObject({ status: 0 });
  expect(again.stderr).not.toMatch(/1 of 2|2 of 2/);
  expect(profileOf("endless").kernels).toEqual([expect.objectContaining({ class: "compute" })]);
});

test("in runs of one pass each: the parts of the throughputs come together, and what is done is kept", () => {
  const args = ["--name", "passes", "--one-pass", "--", ...short];
  const refused = cotenant(args, { ...withNcu, FAKE_NCU: "refused" });
  expect(refused.stderr).toMatch(/run 1 of 4.*are unknown: ncu: ERR_NVGPUCTRPERM/s);

  const { status, stderr } = cotenant(args, withNcu);
  expect({ status, stderr }).toMatchObject({ status: 0 });
  expect(stderr).toMatch(/what was kept of passes is used.*run 1 of 4.*run 4 of 4/s);
  expect(stderr).not.toMatch(/1 of 2|unknown/);
  const [kernel, ...others] = profileOf("passes").kernels;
  expect(others).toEqual([]);
  expect(kernel).toMatchObject({ sm: 0.81, memory: 0.2, dram: 0.125, class: "compute" });
  expect(readdirSync(profiles).filter((file) => file.startsWith("."))).toEqual([]);
});

test("says in one sentence what went wrong", () => {
  expect(cotenant(["--name", "none", "--", "true"]).stderr).toMatch(
    /\ncotenant: true ended \(status 0\) without a recording: it used no GPU, or was killed\./,
  );
  expect(cotenant(["--name", "none", "--seconds", "1", "--", "sleep", "60"]).stderr).toMatch(
    /\ncotenant: sleep was told to end after --seconds 1 and left no recording \(signal 15\): it had not used the GPU yet/,
  );
  expect(cotenant(["--name", "none", "--", "no-such-program"]).stderr).toMatch(
    /\ncotenant: Cannot run "no-such-program": .*\n$/,
  );
});
