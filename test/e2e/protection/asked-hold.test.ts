// Best-effort work that somebody else than SysMonitor wants to stand still, as a cluster's node part does.
import { expect, test } from "vitest";
import { runningAgent } from "#agent";
import { askToHold } from "#client";
import { cotenantItself, eventually, startMachine } from "../machine.ts";

test("best-effort work stands still while it is asked for, newcomers too, and goes on afterwards", async () => {
  const machine = await startMachine();
  const closed = ["--arrivals", "closed", "--seconds", "3600"];
  const train = machine.load("best-effort", closed);
  await train.serving;
  const agent = runningAgent(machine.directory);
  const gpu = (await machine.status()).gpus[0]?.uuid ?? "";
  if (!agent) throw new Error("no agent");

  await machine.native("best-effort", ["true"]); // learns the environment while nothing is held
  await askToHold(agent, gpu, "no service has the GPU");
  expect((await machine.status()).gpus[0]?.heldBecause).toBe("no service has the GPU");
  expect(machine.memory().settings.paused).toBe(1);
  const { stdout } = await machine.cotenant(["status"]);
  expect(stdout.replace(/\s+/g, " ")).toContain(
    "best-effort work is paused, but for one chunk a second: no service has the GPU",
  );
  const late = machine.load("best-effort", closed);
  await late.said(`waits before its start: An operator holds the best-effort work of ${gpu}.`);
  // One whose program runs already is a client, and stands still.
  const newcomer = await machine.native("best-effort", [...cotenantItself, "load", ...closed]);
  await eventually("it is held", async () => (await machine.slotOf(newcomer)) !== undefined);
  expect(machine.memory().settings.paused).toBe(1);

  await askToHold(agent, gpu, undefined);
  expect((await machine.status()).gpus[0]?.heldBecause).toBe(undefined);
  const finished = async () => (await machine.bestEffortOf(train)).finishedSeconds;
  const before = await finished();
  await eventually("the training goes on", async () => (await finished()) > before);
  await late.serving;
  await newcomer.said("load: serving");
});
