// A service that uses two GPUs of the machine, beside a training on each.
import { mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { regionOf } from "../../agent/region.ts";
import { type Client, eventually, startMachine } from "../machine.ts";

const program = fileURLToPath(new URL("../programs/two_gpus.py", import.meta.url));

/** Whether a service is active, as the training's GPU and other ranks see it. */
function heldOf(training: Client) {
  const page = regionOf(training.pid)?.holds[0];
  if (!page) throw new Error("the training has no control page");
  return { active: page.active !== 0, paused: page.word === 1 };
}

test("a service that is active on one of its GPUs holds best-effort work on all of them", async () => {
  const machine = await startMachine(
    { COTENANT_SOFTGPU: "devices=2" },
    ...["--set", "progressAfterUs=1000000", "--set", "startupTimeoutUs=0"],
  );
  const trainings = [0, 1].map((device) =>
    machine.load("best-effort", ["--arrivals", "closed", "--seconds", "3600"], {
      CUDA_VISIBLE_DEVICES: `${device}`,
    }),
  );
  await Promise.all(trainings.map(({ serving }) => serving));
  const folder = mkdtempSync(join(machine.directory, "commands-"));
  const service = machine.run("high", ["python3", program, folder]);
  await service.said("ready");
  const active = () => trainings.map((training) => heldOf(training).active);
  let commands = 0;
  const request = async (device: number, what: "begins" | "ends") => {
    const number = commands++;
    writeFileSync(join(folder, "new"), `${device} ${what}`);
    renameSync(join(folder, "new"), join(folder, `${number}`));
    await service.said(`done ${number}`);
  };
  const bothPaused = () => trainings.every((training) => heldOf(training).paused);
  for (const [first, second] of [
    [0, 1],
    [1, 0],
  ] as const) {
    await request(first, "begins");
    expect(active()).toEqual([true, true]);
    await eventually("both GPUs' trainings are paused", bothPaused);
    await request(second, "begins");
    expect(active()).toEqual([true, true]);
    await request(first, "ends");
    expect(active()).toEqual([true, true]);
    await request(second, "ends");
    expect(active()).toEqual([false, false]);
    await eventually("both go on", () => trainings.every((training) => !heldOf(training).paused));
  }
  expect((await service.ended).status).toBe(0);
  for (const training of trainings) expect((await training.finish()).result.intact).toBe(true);
});
