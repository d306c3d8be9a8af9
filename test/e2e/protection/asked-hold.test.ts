// Best-effort work that somebody else than SysMonitor wants to stand still, as a cluster's node part does.
import { expect, test } from "vitest";
import { runningAgent } from "#agent";
import { askToHold } from "#client";
import { eventually, startMachine } from "../machine.ts";

test("best-effort work stands still while it is asked for, newcomers too, and goes on afterwards", async () => {
  const machine = await startMachine();
  const closed = ["--arrivals", "closed", "--seconds", "3600"];
  const train = machine.load("best-effort", closed);
  await train.serving;
  const agent = runningAgent(machine.directory);
  const gpu = (await machine.status()).gpus[0]?.uuid ?? "";
  if (!agent) throw new Error("no agent");

  await askToHold(agent, gpu, "no service has the GPU");
  expect((await machine.status()).gpus[0]?.heldBecause).toBe("no service has the GPU");
  expect(machine.memory().settings.paused).toBe(1);
  const { stdout } = await machine.cotenant(["status"]);
  expect(stdout.replace(/\s+/g, " ")).toContain(
    "best-effort work is held, but for a chunk a second: no service has the GPU",
  );
  const late = machine.load("best-effort", closed);
  await eventually("a newcomer is held", async () => (await machine.slotOf(late)) !== undefined);
  expect(machine.memory().settings.paused).toBe(1);

  await askToHold(agent, gpu, undefined);
  expect((await machine.status()).gpus[0]?.heldBecause).toBe(undefined);
  const finished = async () => (await machine.bestEffortOf(train)).finishedSeconds;
  const before = await finished();
  await eventually("the training goes on", async () => (await finished()) > before);
  await late.serving;
});
