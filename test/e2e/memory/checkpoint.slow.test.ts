// Jobs that were started without --movable, parked and moved to another GPU by the driver's checkpoint of their process, with the real
// agent and the real commands.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { askToMove } from "#client";
import { eventually, holdMemory, type Machine, startMachine } from "../machine.ts";

const training = [
  ...["--seconds", "600", "--arrivals", "closed", "--kernels", "20", "--kernel-us", "100"],
];
const movable = { COTENANT_MOVABLE: "1" };
const twoGpus = { COTENANT_SOFTGPU: "devices=2,memory=512MiB" };

const gpuOf = async (machine: Machine, { pid }: { readonly pid: number }) =>
  (await machine.status()).gpus.find(({ bestEffort }) =>
    bestEffort.some((client) => client.pid === pid),
  )?.uuid;

async function otherGpu(machine: Machine, uuid: string | undefined): Promise<string> {
  const other = (await machine.status()).gpus.find((gpu) => gpu.uuid !== uuid);
  if (!other) throw new Error("there is one GPU");
  return other.uuid;
}

/** Ends a holder, which says whether its memory is intact. */
async function intact(file: string, client: { readonly ended: Promise<{ stderr: string }> }) {
  writeFileSync(file, "");
  expect((await client.ended).stderr).toContain("intact");
}

test("a job without movable memory is parked and resumed, and loses nothing", async () => {
  const machine = await startMachine();
  const train = machine.load("best-effort", training);
  await train.serving;
  for (let round = 0; round < 2; round++) {
    const parked = await machine.cotenant(["park", String(train.pid)]);
    expect(parked, parked.stderr).toMatchObject({ status: 0 });
    expect(parked.stdout).toContain("parked by the driver's checkpoint");
    const { launches, memory } = await machine.bestEffortOf(train);
    expect(memory).toMatchObject({ state: "parked", byDriver: true, movable: false });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await machine.bestEffortOf(train)).launches).toBe(launches);
    expect((await machine.cotenant(["status"])).stdout).toContain("by the driver's checkpoint");
    const back = await machine.cotenant(["resume", String(train.pid)]);
    expect(back, back.stderr).toMatchObject({ status: 0 });
    await eventually(
      "it goes on",
      async () => (await machine.bestEffortOf(train)).launches > launches,
    );
  }
  await train.finish(); // throws unless every kernel took place exactly once
});

test("others have its memory meanwhile, and it comes back when they have gone", async () => {
  const machine = await startMachine({ COTENANT_SOFTGPU: "memory=512MiB" });
  const files = ["first", "second"].map((name) => join(machine.directory, name));
  const [first = "", second = ""] = files;
  const holder = machine.run("best-effort", holdMemory(300, first));
  await holder.said("allocated");
  expect(await machine.cotenant(["park", String(holder.pid)])).toMatchObject({ status: 0 });
  const other = machine.run("best-effort", holdMemory(300, second));
  await other.said("allocated");
  const refused = await machine.cotenant(["resume", String(holder.pid)]);
  expect(refused).toMatchObject({ status: 1 });
  expect(refused.stderr).toContain("do not fit now; it returns as soon as it fits");
  await intact(second, other);
  await eventually(
    "it is back",
    async () => (await machine.bestEffortOf(holder)).memory?.state === "open",
  );
  await intact(first, holder);
});

test("a driver without checkpoints is named, with what helps, and the job goes on", async () => {
  const machine = await startMachine({ COTENANT_SOFTGPU: "checkpoints=refused" });
  const train = machine.load("best-effort", training);
  await train.serving;
  const refused = await machine.cotenant(["park", String(train.pid)]);
  expect(refused).toMatchObject({ status: 1 });
  expect(refused.stderr).toContain("the driver has no checkpoint of such a process");
  expect(refused.stderr).toContain("--movable");
  await train.finish();
});

for (const [what, env] of [
  ["without movable memory", {}],
  ["with movable memory", movable],
] as const)
  test(`a job ${what} goes on with another GPU, and comes back`, async () => {
    const machine = await startMachine(twoGpus);
    const train = machine.load("best-effort", training, env);
    await train.serving;
    const from = await gpuOf(machine, train);
    const to = await otherGpu(machine, from);
    for (const target of [to, from ?? ""]) {
      const moved = await machine.cotenant(["move", String(train.pid), "--to", target]);
      expect(moved, moved.stderr).toMatchObject({ status: 0 });
      expect(moved.stdout).toContain(`goes on with ${target}`);
      expect(await gpuOf(machine, train)).toBe(target);
      const { launches } = await machine.bestEffortOf(train);
      await eventually(
        "it works there",
        async () => (await machine.bestEffortOf(train)).launches > launches,
      );
    }
    await train.finish();
  });

test("a job that has moved is held by the services of its new GPU, not by those of the old one", async () => {
  const machine = await startMachine(twoGpus);
  const service = machine.load("high", [
    ...["--seconds", "600", "--arrivals", "closed", "--kernels", "50", "--kernel-us", "200"],
  ]);
  await service.serving;
  const train = machine.load("best-effort", training);
  await train.serving;
  const held = async () => (await machine.bestEffortOf(train)).heldSeconds;
  const before = await held();
  await eventually("it is held", async () => (await held()) > before);
  const to = await otherGpu(machine, await gpuOf(machine, train));
  const moved = await machine.cotenant(["move", String(train.pid), "--to", to]);
  expect(moved, moved.stderr).toMatchObject({ status: 0 });
  const { launches } = await machine.bestEffortOf(train);
  await eventually(
    "it works there",
    async () => (await machine.bestEffortOf(train)).launches > launches + 100,
  );
  expect(await held()).toBe(0);
  await train.finish();
  await service.finish();
});

test("a GPU without room refuses the job, which goes on where it is", async () => {
  const machine = await startMachine(twoGpus);
  const [theirs = "", mine = ""] = ["theirs", "mine"].map((name) => join(machine.directory, name));
  const first = machine.run("best-effort", holdMemory(300, theirs));
  await first.said("allocated");
  const from = await gpuOf(machine, first);
  const to = await otherGpu(machine, from);
  const away = await machine.cotenant(["move", String(first.pid), "--to", to]);
  expect(away, away.stderr).toMatchObject({ status: 0 });
  const holder = machine.run("best-effort", holdMemory(300, mine));
  await holder.said("allocated");
  const refused = await machine.cotenant(["move", String(holder.pid), "--to", to]);
  expect(refused).toMatchObject({ status: 1 });
  expect(refused.stderr).toMatch(/it has 301 MiB, and GPU-.* has 211 MiB free/);
  // Whoever asks nevertheless hears it from the driver.
  await askToMove(machine.agent(), String(holder.pid), to);
  await eventually("the driver has refused it", async () => {
    const { memory } = await machine.bestEffortOf(holder);
    return memory?.asked === memory?.answered && memory?.reason !== undefined;
  });
  expect(await gpuOf(machine, holder)).toBe(from);
  expect((await machine.bestEffortOf(holder)).memory).toMatchObject({
    state: "open",
    reason: expect.stringContaining("do not fit"),
  });
  await intact(mine, holder);
  await intact(theirs, first);
});

test("a job that the driver loses on its way to another GPU is named", async () => {
  const machine = await startMachine({ COTENANT_SOFTGPU: "checkpoints=lost,devices=2" });
  const train = machine.load("best-effort", training);
  await train.serving;
  const to = await otherGpu(machine, await gpuOf(machine, train));
  const lost = await machine.cotenant(["move", String(train.pid), "--to", to]);
  expect(lost).toMatchObject({ status: 1 });
  expect(lost.stderr).toContain("it cannot go on. End it");
  train.signal("SIGKILL");
  await train.ended;
});

test("a job that the driver loses is named, and can be ended", async () => {
  const machine = await startMachine({ COTENANT_SOFTGPU: "checkpoints=lost" });
  const train = machine.load("best-effort", training);
  await train.serving;
  const { pid } = train;
  expect(await machine.cotenant(["park", String(pid)])).toMatchObject({ status: 0 });
  const resumed = await machine.cotenant(["resume", String(pid)]);
  expect(resumed).toMatchObject({ status: 1 });
  expect(resumed.stderr).toContain("it cannot go on. End it");
  expect((await machine.cotenant(["status"])).stdout).toContain("it cannot go on. End it");
  const ended = await machine.cotenant(["evict", String(pid), "--end", "--grace", "2s"]);
  expect(ended, ended.stderr).toMatchObject({ status: 0 });
  expect(ended.stdout).toMatch(/ended|killed/);
  await train.ended;
});
