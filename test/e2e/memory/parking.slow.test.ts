// Memory of a training is parked and returned by command, with the real agent and the real command.
import { expect, test } from "vitest";
import { eventually, type Machine, startMachine } from "../machine.ts";

const training = [
  "--seconds",
  "600",
  "--arrivals",
  "closed",
  "--kernels",
  "20",
  "--kernel-us",
  "100",
];
const movable = { COTENANT_MOVABLE: "1" };

async function startTraining(env: Readonly<Record<string, string>> = movable) {
  const machine = await startMachine();
  const train = machine.load("best-effort", training, env);
  await train.serving;
  const memory = async () => (await machine.bestEffortOf(train)).memory;
  return { machine, train, memory };
}

const launches = async (machine: Machine, client: { readonly pid: number }) =>
  (await machine.bestEffortOf(client)).launches;

test("a training stands still while it is parked, and loses nothing", async () => {
  const { machine, train, memory } = await startTraining();
  for (let round = 0; round < 3; round++) {
    const parked = await machine.cotenant(["park", String(train.pid), "--json"]);
    expect(parked, parked.stderr).toMatchObject({ status: 0 });
    expect(await memory()).toMatchObject({ state: "parked" });
    const before = await launches(machine, train);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await launches(machine, train)).toBe(before);
    expect((await machine.cotenant(["status"])).stdout).toContain("has been parked for");
    const back = await machine.cotenant(["resume", String(train.pid)]);
    expect(back, back.stderr).toMatchObject({ status: 0 });
    expect(back.stdout).toContain("are back");
    await eventually("it goes on", async () => (await launches(machine, train)) > before);
  }
  expect((await machine.bestEffortOf(train)).trickles).toBe(0);
  await train.finish(); // throws unless every kernel took place exactly once
});

test("its memory returns when the agent is killed, and the next agent can park it again", async () => {
  const { machine, train, memory } = await startTraining();
  expect(await machine.cotenant(["park", String(train.pid)])).toMatchObject({ status: 0 });
  await machine.killAgent();
  await machine.up();
  await eventually("it has come back", async () => (await machine.slotOf(train)) !== undefined);
  await eventually("its memory is back", async () => (await memory())?.state === "open");
  expect(await machine.cotenant(["park", String(train.pid)])).toMatchObject({ status: 0 });
  expect(await machine.cotenant(["resume", String(train.pid)])).toMatchObject({ status: 0 });
  await train.finish();
});

test("a parked client that is killed leaves nothing on the GPU", async () => {
  const { machine, train } = await startTraining();
  expect(await machine.cotenant(["park", String(train.pid)])).toMatchObject({ status: 0 });
  train.signal("SIGKILL");
  await train.ended;
  await eventually("its slot is free", async () => (await machine.slotOf(train)) === undefined);
  // The agent reads the GPU's counters some times a second.
  await eventually(
    "its memory is free",
    async () => (await machine.status()).gpus[0]?.reading?.memoryUsed === 0,
  );
});

test("who cannot be parked is named with the reason", async () => {
  const { machine, train } = await startTraining();
  const nobody = await machine.cotenant(["park", "nobody"]);
  expect(nobody).toMatchObject({ status: 1 });
  expect(nobody.stderr).toContain('There is no best-effort client "nobody"');
  const high = await machine.cotenant(["run", "--class", "high", "--movable", "--", "true"]);
  expect(high).toMatchObject({ status: 2 });
  await train.finish();
});

test("with too little host memory it is not parked, says why and goes on", async () => {
  const { machine, train, memory } = await startTraining({
    ...movable,
    COTENANT_PARK_HOST: "1000000",
  });
  const refused = await machine.cotenant(["park", String(train.pid)]);
  expect(refused).toMatchObject({ status: 1 });
  expect(refused.stderr).toContain("--park-host");
  expect(await memory()).toMatchObject({ state: "open" });
  await train.finish();
});
