// An upgrade and an uninstallation of the package beside an agent, a service and a training that run.
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { pathsIn } from "#agent";
import { emptyMachine, eventually, type Machine, withoutLate } from "../machine.ts";
import { installed } from "./installed.ts";
import { installReleased, releasedVersions } from "./released.ts";

const launcherOf = (root: string) => join(root, "build/native/cotenant");
const buildsOf = (machine: Machine) => readdirSync(pathsIn(machine.directory).builds);
const highs = async (machine: Machine) =>
  (await machine.status()).gpus.flatMap(({ high }) => high.map(({ name }) => name));

test("jobs go on while the package is replaced and removed, and children of them become clients", async () => {
  const machine = emptyMachine();
  const old = installed("0.0.1");
  const command = launcherOf(old);
  const up = await machine.elsewhere([command, "up", "--gpu", "soft"]).ended;
  expect(up).toMatchObject({ status: 0, stderr: "" });
  const build = machine.agent().build ?? "";
  expect(buildsOf(machine)).toEqual([basename(build)]);

  // The jobs load nothing of the package themselves: only Cotenant's files go away.
  const load = `${process.execPath} ${join(process.cwd(), "bin/cotenant")} load --seconds 3600`;
  const go = `${machine.directory}/go`;
  const wait = `until [ -e ${go} ]; do sleep 0.1; done`;
  const run = [command, "run", "--class"];
  const service = machine.elsewhere([
    ...[...run, "high", "--name", "serve", "--"],
    ...["sh", "-c", `(${wait}; exec ${load} --rate 20) & ${load} --rate 20 & wait`],
  ]);
  const training = machine.elsewhere([
    ...[...run, "best-effort", "--name", "train", "--"],
    ...["sh", "-c", `${load} --arrivals closed; exit $?`],
  ]);
  await Promise.all([service.said("load: serving"), training.said("load: serving")]);

  rmSync(old, { recursive: true });
  writeFileSync(go, "");
  await eventually("the child that came later is a client", async () => {
    const names = await highs(machine);
    return names.length === 2;
  });

  const newer = installed("0.0.2");
  expect(await machine.elsewhere([launcherOf(newer), "down"]).ended).toMatchObject({ status: 0 });
  const again = await machine.elsewhere([launcherOf(newer), "up", "--gpu", "soft"]).ended;
  expect(again).toMatchObject({ status: 0 });
  await eventually("all are clients of the new agent", async () => {
    const [gpu] = (await machine.status()).gpus;
    return gpu?.high.length === 2 && gpu.bestEffort.length === 1;
  });
  expect(existsSync(build)).toBe(true);
  const [gpu] = (await machine.status()).gpus;
  const clients = [...(gpu?.high ?? []), ...(gpu?.bestEffort ?? [])];
  for (const { pid } of clients) process.kill(pid, "SIGTERM");
  await Promise.all([service.ended, training.ended]);

  await machine.elsewhere([launcherOf(newer), "down"]).ended;
  await machine.elsewhere([launcherOf(newer), "up", "--gpu", "soft"]).ended;
  expect(existsSync(build)).toBe(false);
  expect(buildsOf(machine)).toEqual([basename(machine.agent().build ?? "")]);
  const { stdout } = await machine.elsewhere([launcherOf(newer), "events"]).ended;
  expect(stdout).toContain(` build removed build=${basename(build)}\n`);
  expect(stdout.match(/ reattached /g)).toHaveLength(3);
  expect(stdout).not.toContain(" refused ");
});

/**
 * Starts an agent of the package in `old` with a service and a training, replaces it by one of the package in `newer` and
 * goes back. No request may be lost, and each agent has clients that the other one's library serves.
 */
async function upgradeAndBack(old: string, newer: string) {
  const machine = emptyMachine();
  await machine.elsewhere([launcherOf(old), "up", "--gpu", "soft"]).ended;
  const load = [process.execPath, join(process.cwd(), "bin/cotenant"), "load"];
  const run = [launcherOf(old), "run", "--class"];
  const service = machine.elsewhere([
    ...[...run, "high", "--name", "serve", "--"],
    ...[...load, "--rate", "20", "--seconds", "3600"],
  ]);
  const start = async (from: string, name: string) => {
    const training = machine.elsewhere([
      ...[launcherOf(from), "run", "--class", "best-effort", "--name", name, "--"],
      ...[...load, "--arrivals", "closed", "--seconds", "3600"],
    ]);
    await training.said("load: serving");
    return training;
  };
  const trainings = [await start(old, "train")];
  await service.said("load: serving");
  const clients = async () => {
    const [gpu] = (await machine.status()).gpus;
    return [...(gpu?.high ?? []), ...(gpu?.bestEffort ?? [])].filter(({ connected }) => connected);
  };
  // A request is a burst.
  const bursts = async () => (await machine.status()).gpus[0]?.high[0]?.bursts ?? 0;
  const versions: (readonly boolean[])[] = [];
  for (const next of [newer, old]) {
    for (const words of [["down"], ["up", "--gpu", "soft"]]) {
      const { status, stderr } = await machine.elsewhere([launcherOf(next), ...words]).ended;
      expect(status, `${words[0]} said: ${stderr}`).toBe(0);
    }
    await eventually(
      "all are clients again",
      async () => (await clients()).length === trainings.length + 1,
    );
    versions.push((await clients()).map(({ older }) => older));
    if (next === newer) trainings.push(await start(newer, "newer"));
    const before = await bursts();
    await eventually("requests go on", async () => (await bursts()) > before + 20);
  }
  for (const { pid } of await clients()) process.kill(pid, "SIGTERM");
  const [served] = await Promise.all([service.ended, ...trainings.map(({ ended }) => ended)]);
  expect(served).toMatchObject({ status: 0, stdout: expect.stringMatching(/: \d+ requests in /) });
  // No library said that it is unprotected, or of another version.
  expect(withoutLate(served.stderr).match(/^(?!load: ).+$/gm)).toBeNull();
  return versions;
}

test("an upgrade and the way back under load lose no request", async () => {
  const versions = await upgradeAndBack(installed("0.0.1"), installed("0.0.2"));
  expect(versions).toEqual([
    [false, false],
    [false, false, false],
  ]);
});

test.each(releasedVersions)(
  "an upgrade from the released %s and the way back under load lose no request",
  async (version) => {
    await upgradeAndBack(installReleased(version), installed("0.0.2"));
  },
);

test("a command of another build than the agent's gives its program the library of the agent", async () => {
  const machine = emptyMachine();
  const [old, newer] = [installed("0.0.1"), installed("0.0.2")];
  await machine.elsewhere([launcherOf(old), "up", "--gpu", "soft"]).ended;
  const printed = ["run", "--class", "high", "--", "sh", "-c", "echo $LD_PRELOAD"];
  for (const root of [old, newer]) {
    const { stdout } = await machine.elsewhere([launcherOf(root), ...printed]).ended;
    expect(stdout).toBe(`${machine.agent().build}/build/native/libcotenant.so\n`);
  }
});
