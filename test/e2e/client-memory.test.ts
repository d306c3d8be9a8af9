// The GPU memory of each client, as the GPU's driver counts it by process.
import { expect, test } from "vitest";
import { gibibytes } from "#core";
import { service, training } from "./faults.ts";
import { cotenantItself, eventually, startMachine } from "./machine.ts";

test("of a client of either class, the status says what the software GPU has given to its process", async () => {
  const machine = await startMachine();
  const loads = [machine.load("high", service), machine.load("best-effort", training)];
  await Promise.all(loads.map(({ serving }) => serving));
  const clients = async () => {
    const [gpu] = (await machine.status()).gpus;
    return { gpu, high: gpu?.high[0], bestEffort: gpu?.bestEffort[0] };
  };
  await eventually("the agent has read the GPU", async () => {
    const { gpu, high, bestEffort } = await clients();
    const [one = 0, other = 0] = [high?.gpuMemory, bestEffort?.gpuMemory];
    return one > 0 && other > 0 && one + other === gpu?.reading?.memoryUsed;
  });
  const { high } = await clients();
  const { stdout } = await machine.elsewhere([...cotenantItself, "status"]).ended;
  expect(stdout).toMatch(new RegExp(`^ +node .* ${gibibytes(high?.gpuMemory ?? 0)}$`, "m"));
});
