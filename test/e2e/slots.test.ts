// 16 places for best-effort clients, 64 for high ones: a best-effort client that comes too late waits, a high one runs
// unprotected, and both say so.
import { spawn } from "node:child_process";
import { readlinkSync } from "node:fs";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { constants } from "#protocol";
import { service, training } from "./faults.ts";
import { cotenantItself, type Machine, startMachine } from "./machine.ts";

const briefly = ["load", "--arrivals", "closed", "--seconds", "0.3", "--warmup", "0.1", "--json"];

/** Processes that say hello and then do nothing: a place is a process's, and the kernel says whose. */
async function takePlaces(machine: Machine, kind: "high" | "best-effort", count: number) {
  const gpu = Buffer.from(machine.memory().header.gpuUuid.slice()).toString("hex");
  const args = [machine.agent().socket, kind, `${count}`, gpu];
  const places = spawn("build/native/tests/places", args, { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void places.stdin.destroy());
  const said: string[] = [];
  for await (const line of createInterface({ input: places.stdout }))
    if (said.push(line) === count) break;
  expect(said).toEqual(new Array(count).fill("taken"));
  return { giveBack: () => void places.kill() };
}

/**
 * A best-effort client that has said `text`. One whose agent is busy for more than 500 ms runs on without an answer: where
 * other suites take the CPUs, the next one is asked, aloud.
 */
async function answeredInTime(machine: Machine, text: string) {
  for (;;) {
    const client = await machine.native("best-effort", [...cotenantItself, ...briefly]);
    const isBusy = client.said("is busy: it has not answered").then(() => true);
    isBusy.catch(() => {}); // usual: it ends without
    if (!(await Promise.race([client.said(text).then(() => false), isBusy]))) return client;
    console.warn(
      "The agent answered late, because the machine is busy: another client is started.",
    );
    await client.ended;
  }
}

test("the 17th best-effort client waits for a place, before its start or at its first use of the GPU", async () => {
  const machine = await startMachine();
  const others = [machine.load("high", service), machine.load("best-effort", training)];
  others.push(machine.load("best-effort", training));
  await Promise.all(others.map(({ serving }) => serving));
  await machine.native("best-effort", ["true"]); // learns the environment while a place is free
  const places = await takePlaces(machine, "best-effort", constants.MAX_BEST_EFFORT - 2);
  const [{ uuid } = { uuid: "" }] = (await machine.status()).gpus;
  const taken = `All 16 places for best-effort clients on ${uuid} are taken.\n`;

  const late = machine.run("best-effort", [...cotenantItself, ...briefly]);
  await late.said(`waits before its start: ${taken}`);
  const within = await answeredInTime(
    machine,
    `this best-effort client waits at its first use of the GPU: ${taken}`,
  );
  places.giveBack();
  for (const { ended } of [late, within]) {
    const { status, stdout } = await ended;
    expect({ status, intact: JSON.parse(stdout).intact }).toEqual({ status: 0, intact: true });
  }
  for (const other of others) expect((await other.finish()).result.requests).toBeGreaterThan(0);
});

test("the 65th high client is told so, and runs unprotected", async () => {
  const machine = await startMachine();
  const bestEffort = machine.load("best-effort", training);
  await bestEffort.serving;
  await takePlaces(machine, "high", constants.MAX_HIGH);

  const untilSignal = [
    "load",
    "--arrivals",
    "closed",
    "--seconds",
    "600",
    "--warmup",
    "0.1",
    "--json",
  ];
  const late = machine.run("high", [...cotenantItself, ...untilSignal]);
  await late.said("load: serving");
  await late.said("refuses this high client");
  expect(readlinkSync(`/proc/${late.pid}/exe`)).toBe(process.execPath);
  expect(await machine.slotOf(late)).toBeUndefined();
  late.signal("SIGTERM");
  const { status, stdout, stderr } = await late.ended;
  expect(stderr).toMatch(
    /^cotenant: the agent refuses this high client: All 64 places for high clients on GPU-\S+ are taken\. It runs unprotected until it has a slot\.$/m,
  );
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ intact: true });
  expect((await bestEffort.finish()).result.requests).toBeGreaterThan(0);
});
