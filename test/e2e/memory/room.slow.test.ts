// Memory is taken from best-effort jobs for who needs it, and given back.
import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { eventually, holdMemory, type Machine, startMachine } from "../machine.ts";

const MiB = 2 ** 20;
const small = { COTENANT_SOFTGPU: "memory=512MiB" };
const movable = { COTENANT_MOVABLE: "1" };

async function startHolder(machine: Machine, mib: number, env: Readonly<Record<string, string>>) {
  const file = `${machine.directory}/holder-over`;
  const holder = machine.run("best-effort", holdMemory(mib, file), env);
  const memory = async () => {
    const own = await machine.slotOf(holder);
    return own && "chunks" in own ? own.memory : undefined;
  };
  const end = async () => {
    writeFileSync(file, "");
    const { status, stderr } = await holder.ended;
    expect({ status, stderr }).toMatchObject({
      status: 0,
      stderr: expect.stringContaining("intact"),
    });
  };
  return { holder, memory, end };
}

test("a service whose memory does not fit gets it from a training, which has it back later", async () => {
  const machine = await startMachine(small);
  const { holder, memory, end } = await startHolder(machine, 300, movable);
  await holder.said("allocated");
  const file = `${machine.directory}/service-over`;
  const begin = `${machine.directory}/service-begins`;
  const service = machine.run("high", holdMemory(350, file, 20, begin));
  await eventually("it is a client", async () => (await machine.slotOf(service)) !== undefined);
  writeFileSync(begin, "");
  await service.said("allocated");
  expect(await memory()).toMatchObject({ state: "parked" });
  const { stdout } = await machine.cotenant(["logs"]);
  expect(stdout).toContain("memory taken");
  writeFileSync(file, "");
  expect((await service.ended).stderr).toContain("intact");
  await eventually(
    "the training has its memory back",
    async () => (await memory())?.state === "open",
  );
  await end();
});

test("without movable memory the service gets the driver's error", async () => {
  const machine = await startMachine(small);
  const { holder, end } = await startHolder(machine, 300, {});
  await holder.said("allocated");
  const service = await machine.run("high", holdMemory(350, "/nowhere")).ended;
  expect(service.status).not.toBe(0);
  expect(service.stderr).not.toContain("allocated");
  await end();
});

test("a reserve is kept free", async () => {
  const machine = await startMachine(small, "--reserve", "400MiB");
  const { holder, memory, end } = await startHolder(machine, 300, movable);
  await eventually("the training is parked", async () => (await memory())?.state === "parked");
  // The agent reads the GPU's counters some times a second.
  await eventually("so much is free", async () => {
    const [gpu] = (await machine.status()).gpus;
    const { memoryTotal = 0, memoryUsed = 0 } = gpu?.reading ?? {};
    return memoryTotal - memoryUsed >= 400 * MiB;
  });
  await machine.cotenant(["down"]);
  await machine.up();
  await eventually("it is back", async () => (await machine.slotOf(holder)) !== undefined);
  await eventually("without a reserve", async () => (await memory())?.state === "open");
  await end();
});
