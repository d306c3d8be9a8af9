// A gang on four devices, each of which has a service with requests of its own, for so long that they have paused a rank
// 10,000 times. Every sum of every step is checked by the ranks.
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Client, type Load, type Machine, startMachine, withoutLate } from "../e2e/machine.ts";
import { native } from "../native.ts";

const RANKS = 4;
const PAUSES = Number(process.env.COTENANT_PAUSES ?? 10_000);
const STEPS = Number(process.env.COTENANT_STEPS ?? 500);
// A small machine models the GPUs on few CPUs, so kernels are long: a step takes 20 ms on a GPU that is its own, and a
// request 10 ms.
const KERNELS = 20;
const KERNEL_US = 1_000;
const RATE = 5;

let ports = 30_000;

function startGang(machine: Machine): readonly Client[] {
  const identity = join(mkdtempSync(join(machine.directory, "ranks-")), "identity");
  const port = `${ports++}`;
  const program = ["python3", "test/nccl/training.py", `${native}/tests/nccl/libnccl.so.2`];
  return Array.from({ length: RANKS }, (_, rank) =>
    machine.run("best-effort", [...program, identity, `${STEPS}`, `${KERNELS}`, `${KERNEL_US}`], {
      ...{ RANK: `${rank}`, LOCAL_RANK: `${rank}`, WORLD_SIZE: `${RANKS}` },
      ...{ LOCAL_WORLD_SIZE: `${RANKS}`, MASTER_ADDR: machine.directory, MASTER_PORT: port },
    }),
  );
}

async function ended(gang: readonly Client[]): Promise<number> {
  const ends = await Promise.all(gang.map((rank) => rank.ended));
  const seconds = ends.map(({ status, signal, stdout, stderr }) => {
    expect({ status, signal, stderr: withoutLate(stderr) }).toEqual({
      ...{ status: 0, signal: null, stderr: "training\n" },
    });
    const result = JSON.parse(stdout) as { checked: number; seconds: number };
    expect(result.checked).toBe(STEPS);
    return result.seconds;
  });
  return Math.max(...seconds);
}

function startServices(machine: Machine, rate: number): readonly Load[] {
  const shape = `--rate ${rate} --seconds 7200 --kernel-us ${KERNEL_US}`.split(" ");
  return Array.from({ length: RANKS }, (_, device) =>
    machine.load("high", [...shape, "--seed", `${device}`], { CUDA_VISIBLE_DEVICES: `${device}` }),
  );
}

/** Requests so far, and the part of its time in which each device's service was active. */
async function served(machine: Machine) {
  const { gpus } = await machine.status();
  const services = gpus.flatMap(({ high }) => high);
  return {
    requests: services.reduce((sum, { bursts }) => sum + bursts, 0),
    active: services.map(({ activeShare }) => activeShare),
  };
}

test("a gang ends with the right sums while services pause its ranks 10,000 times", async () => {
  const machine = await startMachine({ COTENANT_SOFTGPU: `devices=${RANKS}` });
  const alone = await ended(startGang(machine));
  const resting = startServices(machine, 0.001);
  await Promise.all(resting.map(({ serving }) => serving));
  const atRest = await ended(startGang(machine));
  for (const service of resting) service.signal("SIGTERM");
  await Promise.all(resting.map((service) => service.ended));
  const services = startServices(machine, RATE);
  await Promise.all(services.map(({ serving }) => serving));
  let pauses = 0;
  let beside = 0;
  let gangs = 0;
  const active: number[][] = [];
  while (pauses < PAUSES) {
    const gang = startGang(machine);
    await Promise.all(gang.map((rank) => rank.said("training")));
    const before = await served(machine);
    beside += await ended(gang);
    gangs++;
    const after = await served(machine);
    pauses += after.requests - before.requests;
    active.push(after.active);
    console.log(`${pauses} of ${PAUSES} pauses`);
  }
  const idle = active.map((all) => all.reduce((part, share) => part * (1 - share), 1));
  const part = idle.reduce((sum, one) => sum + one, 0) / idle.length;
  console.log(
    `${gangs} gangs of ${STEPS} steps: ${(alone / (beside / gangs)).toFixed(3)} of the rate alone, ` +
      `${(atRest / (beside / gangs)).toFixed(3)} of that beside services without requests; ` +
      `no service was active in ${part.toFixed(3)} of the time`,
  );
  for (const service of services) expect((await service.finish()).result.intact).toBe(true);
});
