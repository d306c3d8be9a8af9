// A service that parks its memory when it is idle, with the real agent, the real command and the software GPU.
import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { HighStatus } from "#agent";
import { eventually, holdMemory, type Machine, startMachine } from "../machine.ts";

const small = { COTENANT_SOFTGPU: "memory=512MiB" };
const sleeps = { COTENANT_PARK_AFTER_MS: "300" };

/** Serves a request when it is told to. */
async function startService(machine: Machine, mib: number) {
  const file = `${machine.directory}/service-over`;
  const service = machine.run("high", holdMemory(mib, file, 2 ** 30), sleeps);
  await service.said("allocated");
  const memory = async () => {
    const own = (await machine.slotOf(service)) as HighStatus | undefined;
    return own?.memory;
  };
  return {
    memory,
    asleep: () => eventually("it sleeps", async () => (await memory())?.state === "parked"),
    /** Resolves when it has answered. */
    request: async () => {
      const { woken = 0 } = (await memory()) ?? {};
      service.signal("SIGUSR2");
      await eventually("it answers", async () => ((await memory())?.woken ?? 0) > woken);
    },
    end: async () => {
      writeFileSync(file, "");
      service.signal("SIGUSR2");
      expect(await service.ended).toMatchObject({
        status: 0,
        stderr: expect.stringContaining("intact"),
      });
    },
  };
}

test("a service sleeps between its requests, wakes for each, and loses nothing", async () => {
  const machine = await startMachine(small);
  const { memory, asleep, request, end } = await startService(machine, 200);
  for (let round = 0; round < 2; round++) {
    await asleep();
    expect((await machine.cotenant(["status"])).stdout).toContain("has slept for");
    await eventually(
      "its memory is free",
      async () => ((await machine.status()).gpus[0]?.reading?.memoryUsed ?? 0) < 100 * 2 ** 20,
    );
    await request();
    expect((await memory())?.firstAnswerMs).toBeGreaterThan(0);
  }
  await eventually("the log has it", async () =>
    (await machine.cotenant(["logs"])).stdout.includes("service woke"),
  );
  await end();
});

test("a training that took its memory is parked when it wakes", async () => {
  const machine = await startMachine(small);
  const { asleep, request, end } = await startService(machine, 300);
  await asleep();
  const over = `${machine.directory}/training-over`;
  const training = machine.run("best-effort", holdMemory(300, over), { COTENANT_MOVABLE: "1" });
  await training.said("allocated");
  await request();
  expect((await machine.cotenant(["logs"])).stdout).toContain("memory taken");
  await end();
  writeFileSync(over, "");
  expect((await training.ended).stderr).toContain("intact");
});

test("an option that would do nothing is refused", async () => {
  const machine = await startMachine();
  const wrong = ["run", "--class", "best-effort", "--park-after", "60s", "--", "true"];
  expect(await machine.cotenant(wrong)).toMatchObject({ status: 2 });
});
