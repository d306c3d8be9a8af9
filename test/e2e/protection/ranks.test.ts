// A service of two processes, each on a GPU of its own, beside a training on each.
import { mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { regionOf } from "../../agent/region.ts";
import { type Client, eventually, startMachine } from "../machine.ts";

const program = fileURLToPath(new URL("../programs/ranks.py", import.meta.url));

function isHeld(training: Client): boolean {
  const page = regionOf(training.pid)?.holds[0];
  if (!page) throw new Error("the training has no control page");
  return page.active !== 0;
}

test("ranks of a service hold best-effort work on the GPUs of all of them, also after a restart of the agent", async () => {
  const rules = ["--set", "progressAfterUs=1000000", "--set", "startupTimeoutUs=0"];
  const machine = await startMachine({ COTENANT_SOFTGPU: "devices=2" }, ...rules);
  const trainings = [0, 1].map((device) =>
    machine.load("best-effort", ["--arrivals", "closed", "--seconds", "3600"], {
      CUDA_VISIBLE_DEVICES: `${device}`,
    }),
  );
  await Promise.all(trainings.map(({ serving }) => serving));
  const folder = mkdtempSync(join(machine.directory, "commands-"));
  const service = machine.run("high", ["python3", program, folder]);
  await Promise.all([service.said("ready 0"), service.said("ready 1")]);
  let commands = 0;
  const tell = (words: string): number => {
    writeFileSync(join(folder, "new"), words);
    renameSync(join(folder, "new"), join(folder, `${commands}`));
    return commands++;
  };
  const request = async (rank: number, what: "begins" | "ends") => {
    await service.said(`done ${tell(`${rank} ${what}`)}`);
  };
  const isTogether = async () => {
    const { gpus } = await machine.status();
    const ranks = gpus.flatMap(({ high }) => high);
    return ranks.length === 2 && ranks.every(({ holdsOn }) => holdsOn.length === 1);
  };
  const held = () => trainings.map(isHeld);
  const takeTurns = async () => {
    await eventually("the ranks hold on both GPUs", isTogether);
    for (const rank of [0, 1]) {
      await request(rank, "begins");
      expect(held()).toEqual([true, true]);
      await request(rank, "ends");
      expect(held()).toEqual([false, false]);
    }
    await request(0, "begins");
    await request(1, "begins");
    await request(0, "ends");
    expect(held()).toEqual([true, true]);
    await request(1, "ends");
    expect(held()).toEqual([false, false]);
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
