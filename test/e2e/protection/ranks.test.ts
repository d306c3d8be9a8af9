// A service of two processes, each on a GPU of its own, beside a training on each.
import { expect, test } from "vitest";
import { eventually } from "../machine.ts";
import { rules, startTwoDevices } from "./two-devices.ts";

test("ranks of a service hold best-effort work on the GPUs of all of them, also after a restart of the agent", async () => {
  const { machine, trainings, service, tell, request, active } = await startTwoDevices("ranks.py", [
    "ready 0",
    "ready 1",
  ]);
  const isTogether = async () => {
    const { gpus } = await machine.status();
    const ranks = gpus.flatMap(({ high }) => high);
    return ranks.length === 2 && ranks.every(({ holdsOn }) => holdsOn.length === 1);
  };
  const takeTurns = async () => {
    await eventually("the ranks hold on both GPUs", isTogether);
    for (const rank of [0, 1]) {
      await request(rank, "begins");
      expect(active()).toEqual([true, true]);
      await request(rank, "ends");
      expect(active()).toEqual([false, false]);
    }
    await request(0, "begins");
    await request(1, "begins");
    await request(0, "ends");
    expect(active()).toEqual([true, true]);
    await request(1, "ends");
    expect(active()).toEqual([false, false]);
  };
  await takeTurns();
  const { stdout } = await machine.cotenant(["status"]);
  expect(stdout).toContain("while one is active, best-effort work waits on all of their GPUs");
  expect((await machine.status()).gpus.map(({ high }) => high.length)).toEqual([1, 1]);

  await machine.killAgent();
  await machine.up(...rules);
  await takeTurns();
  tell("ends");
  expect((await service.ended).status).toBe(0);
  for (const training of trainings) expect((await training.finish()).result.intact).toBe(true);
});
