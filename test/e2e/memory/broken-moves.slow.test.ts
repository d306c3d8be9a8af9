// Whoever takes part in a move is killed in the middle of it: no byte is lost that would not be lost without Cotenant.
import { writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually, holdMemory, type Machine, startMachine } from "../machine.ts";

const movable = { COTENANT_MOVABLE: "1" };

async function startHolder(machine: Machine) {
  const file = `${machine.directory}/over-${Math.random()}`;
  const client = machine.run("best-effort", holdMemory(300, file), movable);
  await client.said("allocated");
  const memory = async () => {
    const own = await machine.slotOf(client);
    return own && "chunks" in own ? own.memory : undefined;
  };
  await eventually("host memory is pinned", async () => {
    const { bytes = 1, pinnedBytes = 0 } = (await memory()) ?? {};
    return pinnedBytes >= bytes;
  });
  /** Counts its command in the client's slot as the agent does. */
  const ask = () => {
    const slot = machine.memory().bestEffort[0]?.memory;
    if (!slot) throw new Error("no slot");
    slot.parkBytes = 0;
    slot.parkAsked += 1;
  };
  const end = async () => {
    writeFileSync(file, "");
    expect((await client.ended).stderr).toContain("intact");
  };
  return { client, memory, ask, end };
}

test("an agent that is killed at any moment of a move loses no byte of its clients", async () => {
  const machine = await startMachine();
  const { client, memory, ask, end } = await startHolder(machine);
  for (const [parkFor, killAfter] of [
    [undefined, 1],
    [undefined, 15],
    [undefined, 60],
    [400, 1],
    [400, 15],
  ] as const) {
    ask();
    if (parkFor !== undefined) {
      await pause(parkFor);
      ask(); // it returns
    }
    await pause(killAfter);
    await machine.killAgent();
    await machine.up();
    await eventually("it has come back", async () => (await machine.slotOf(client)) !== undefined);
    await eventually("its memory is there", async () => (await memory())?.state === "open");
  }
  await end();
});

test("a client that is killed at any moment of a move leaves nothing behind and harms nobody", async () => {
  const machine = await startMachine();
  const service = machine.load("high", ["--rate", "40", "--seconds", "3600"]);
  await service.serving;
  for (const killAfter of [1, 15, 60]) {
    const { client, ask } = await startHolder(machine);
    ask();
    await pause(killAfter);
    client.signal("SIGKILL");
    await client.ended;
    await eventually("its slot is free", async () => (await machine.slotOf(client)) === undefined);
    await eventually("its memory is free", async () => {
      const [gpu] = (await machine.status()).gpus;
      return (gpu?.reading?.memoryUsed ?? 0) < 200 * 2 ** 20;
    });
  }
  await service.finish(); // throws unless every kernel took place exactly once
});
