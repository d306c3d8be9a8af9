// Shared memory is never trusted: not that of another version, and not what somebody wrote over ours.
import { ftruncateSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  createMemoryFile,
  descriptorOf,
  formatUuid,
  pathsIn,
  pidNamespace,
  SharedRegion,
  sealSize,
  sendWithDescriptor,
  startTimeOf,
  writeAgentFile,
} from "#agent";
import { sfc32 } from "#core";
import { constants, messageMagic, Region, view, Welcome } from "#protocol";
import { service, training, writeNoise } from "./faults.ts";
import { cotenantItself, emptyMachine, eventually, startMachine } from "./machine.ts";

const gpuUuid = Uint8Array.from({ length: 16 }, (_, i) => 0xc0 + i);

/** A region as a program of another version would leave it, held open by this process. */
function regionOfVersion(version: number): SharedRegion {
  const fd = createMemoryFile("cotenant");
  ftruncateSync(fd, Region.size);
  sealSize(fd);
  const region = new SharedRegion(fd);
  region.writeHeader({ uuid: gpuUuid, name: "Another", smCount: 1 }, process.pid, 5);
  region.memory.header.version = version;
  const [slot] = region.memory.bestEffort;
  if (slot)
    Object.assign(slot, { pid: process.pid, startTime: startTimeOf(process.pid), state: 1 });
  return region;
}

/** Notes in the run directory which say that this process is the agent, or was. */
function noteAgent(directory: string, region: SharedRegion, isAlive: boolean): void {
  const startTime = startTimeOf(process.pid) ?? 0;
  writeAgentFile(directory, {
    pid: process.pid,
    startTime: isAlive ? startTime : startTime + 1,
    pidNamespace: pidNamespace(),
    scope: "user",
    socket: pathsIn(directory).socket,
    port: 1,
    token: "none",
    mode: "isolated",
    policy: "strict",
    gpu: "soft",
    stopsKernels: false,
    gpuNames: [],
    regions: [
      {
        uuid: formatUuid(gpuUuid),
        inode: region.inode,
        clients: [{ pid: process.pid, startTime }],
      },
    ],
  });
}

describe("memory of another version", () => {
  test.each([
    { name: "of this version is adopted", version: constants.VERSION, adopted: 1 },
    { name: "of the next version is not", version: constants.VERSION + 1, adopted: 0 },
  ])("noted by an earlier agent: what is $name", async ({ version, adopted }) => {
    const machine = emptyMachine();
    const region = regionOfVersion(version);
    noteAgent(machine.directory, region, false);
    await machine.up();
    const { gpus } = await machine.status();
    expect(gpus.map(({ uuid }) => uuid)).toEqual(adopted ? [formatUuid(gpuUuid)] : []);
    expect(region.memory.header).toMatchObject({ version, generation: 5 + adopted });
    const load = machine.load("best-effort", training);
    await load.serving;
    expect((await load.finish()).result.requests).toBeGreaterThan(0);
  });

  /** An agent that answers every Hello with such memory. */
  async function agentOfVersion(version: number) {
    const machine = emptyMachine();
    const region = regionOfVersion(version);
    noteAgent(machine.directory, region, true);
    const server = createServer((socket) => {
      const welcome = new ArrayBuffer(Welcome.size);
      Object.assign(view(Welcome, welcome), {
        magic: messageMagic,
        version: constants.VERSION,
        status: 0,
        slot: 0,
      });
      socket.on("error", () => {});
      socket.once("data", () =>
        sendWithDescriptor(descriptorOf(socket), new Uint8Array(welcome), region.fd),
      );
    });
    const { socket } = pathsIn(machine.directory);
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    onTestFinished(() => void server.close());
    return machine;
  }

  const briefly = [...cotenantItself, "load", "--arrivals", "closed", "--seconds", "0.3", "--json"];

  test("offered to a high client is not used: it runs, and says that it is unprotected", async () => {
    const machine = await agentOfVersion(constants.VERSION + 1);
    const { status, stdout, stderr } = await machine.run("high", briefly).ended;
    expect(stderr).toContain("the agent's shared memory cannot be used: another version");
    expect(JSON.parse(stdout)).toMatchObject({ intact: true });
    expect(status).toBe(0);
  });

  test("offered to a best-effort client is a refusal", async () => {
    const machine = await agentOfVersion(constants.VERSION + 1);
    const { status, stderr } = await machine.run("best-effort", briefly).ended;
    expect(stderr).toContain("the agent's shared memory cannot be used: another version");
    expect(stderr).toContain("CUDA_ERROR_NOT_PERMITTED");
    expect(status).toBe(1);
  });
});

test("noise all over the memory while both clients run breaks neither, and the agent puts it right", async () => {
  const machine = await startMachine();
  const high = machine.load("high", service);
  await high.serving;
  const bestEffort = machine.load("best-effort", training);
  await bestEffort.serving;
  const rulesNow = async () => {
    // These follow the high client's latency, which is about as long as a time slice.
    const served = (await machine.status()).gpus[0]?.served?.rules;
    const { chunkUs = 0, renewUs, ...others } = served ?? {};
    expect(chunkUs).toBeGreaterThan(0);
    expect(chunkUs).toBeLessThan(2000);
    expect([0, 1200]).toContain(renewUs);
    return others;
  };
  const rules = await rulesNow();
  await writeNoise(machine, 1500, sfc32(4));
  await pause(2000);
  const [gpu] = (await machine.status()).gpus;
  expect(gpu?.high).toMatchObject([{ pid: high.pid, slot: 0, connected: true }]);
  expect(gpu?.bestEffort).toMatchObject([{ pid: bestEffort.pid, slot: 0, connected: true }]);
  expect(await rulesNow()).toEqual(rules);
  const { header, activity } = machine.region().memory;
  expect(header).toMatchObject({ version: constants.VERSION, size: Region.size });
  expect(activity.registered).toBe(1);

  const { heldSeconds, launches } = await machine.bestEffortOf(bestEffort);
  await eventually("best-effort work goes on, and is held again", async () => {
    const now = await machine.bestEffortOf(bestEffort);
    return now.heldSeconds > heldSeconds && now.launches > launches;
  });
  expect((await high.finish()).result.requests).toBeGreaterThan(0);
  expect((await bestEffort.finish()).result.requests).toBeGreaterThan(0);
});
