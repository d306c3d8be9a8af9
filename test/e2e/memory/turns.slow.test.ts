// Movable jobs that do not fit together take turns, with the real agent, the real command and the software GPU.
import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { native } from "../../native.ts";
import { eventually, holdMemory, type Machine, startMachine } from "../machine.ts";

const small = { COTENANT_SOFTGPU: "memory=512MiB" };
const movable = { COTENANT_MOVABLE: "1" };

function startHolder(machine: Machine, name: string, mib: number, program = holdMemory) {
  const file = `${machine.directory}/${name}-over`;
  const client = machine.run("best-effort", program(mib, file), movable);
  return {
    client,
    launches: async () => (await machine.bestEffortOf(client)).launches,
    end: async () => {
      writeFileSync(file, "");
      expect(await client.ended).toMatchObject({
        status: 0,
        stderr: expect.stringContaining("intact"),
      });
    },
  };
}

test("jobs that do not fit together all go on, and none loses a byte", async () => {
  const machine = await startMachine(small, "--quantum", "500ms");
  const first = startHolder(machine, "first", 300);
  await first.client.said("allocated");
  const second = startHolder(machine, "second", 250);
  await second.client.said("allocated");
  for (let round = 0; round < 2; round++)
    for (const holder of [first, second]) {
      const before = await holder.launches();
      await eventually("it goes on", async () => (await holder.launches()) > before + 2);
    }
  expect((await machine.cotenant(["logs"])).stdout).toContain("memory given back");
  await Promise.all([first.end(), second.end()]);
});

test("jobs that map their memory themselves take turns, too", async () => {
  const machine = await startMachine(small, "--quantum", "500ms");
  const segments = (mib: number, file: string) => [`${native}/tests/segments`, String(mib), file];
  const first = startHolder(machine, "first", 300, segments);
  await first.client.said("allocated");
  const { memory } = await machine.bestEffortOf(first.client);
  expect(memory).toMatchObject({ unmovableBytes: 0, unmovable: [] });
  expect(memory?.bytes).toBeGreaterThanOrEqual(300 * 2 ** 20);
  const second = startHolder(machine, "second", 260, segments);
  await second.client.said("allocated");
  for (let round = 0; round < 2; round++)
    for (const holder of [first, second]) {
      const before = await holder.launches();
      await eventually("it goes on", async () => (await holder.launches()) > before + 2);
    }
  await Promise.all([first.end(), second.end()]);
});

test("a job waits until the agent that was killed has a successor", async () => {
  const machine = await startMachine(small, "--quantum", "500ms");
  const first = startHolder(machine, "first", 300);
  await first.client.said("allocated");
  const second = startHolder(machine, "second", 250);
  await second.client.said("allocated");
  await machine.killAgent();
  await machine.up("--quantum", "500ms");
  for (const holder of [first, second]) {
    await eventually("it is back", async () => (await machine.slotOf(holder.client)) !== undefined);
    const before = await holder.launches();
    await eventually("it goes on", async () => (await holder.launches()) > before + 2);
  }
  await Promise.all([first.end(), second.end()]);
});

test("the others have their memory back when a job is killed in its turn", async () => {
  const machine = await startMachine(small, "--quantum", "500ms");
  const first = startHolder(machine, "first", 300);
  await first.client.said("allocated");
  const second = startHolder(machine, "second", 250);
  await second.client.said("allocated");
  second.client.signal("SIGKILL");
  await second.client.ended;
  const before = await first.launches();
  await eventually("it goes on", async () => (await first.launches()) > before + 2);
  await first.end();
});

test("a job that fits beside none gets the driver's error", async () => {
  const machine = await startMachine(small);
  const first = startHolder(machine, "first", 100);
  await first.client.said("allocated");
  const large = await machine.run("best-effort", holdMemory(600, "/nowhere"), movable).ended;
  expect(large.status).not.toBe(0);
  await first.end();
});
