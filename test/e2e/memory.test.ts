// Shared memory is never trusted: not that of another version, and not what somebody wrote over ours.
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  descriptorOf,
  type Part,
  pathsIn,
  SharedRegion,
  sendWithDescriptors,
  writeAgentFile,
} from "#agent";
import { sfc32 } from "#core";
import { classes, constants, Hello, messageMagic, Region, view, Welcome } from "#protocol";
import { exampleAgent } from "../agent/example.ts";
import { service, training, writeNoise } from "./faults.ts";
import { cotenantItself, emptyMachine, eventually, startMachine } from "./machine.ts";

const gpuUuid = Uint8Array.from({ length: 16 }, (_, i) => 0xc0 + i);

const briefly = [...cotenantItself, "load", "--arrivals", "closed", "--seconds", "0.3", "--json"];

describe("memory of another version", () => {
  /** An agent that answers every Hello with such memory. */
  async function agentOfVersion(version: number) {
    const machine = emptyMachine();
    const { directory } = machine;
    const { socket: path } = pathsIn(directory);
    writeAgentFile(directory, { ...exampleAgent, socket: path });
    const region = new SharedRegion({ uuid: gpuUuid, name: "Another", smCount: 1 }, process.pid);
    onTestFinished(() => region.close());
    region.memory.header.version = version;
    const server = createServer((socket) => {
      const bytes = new ArrayBuffer(Welcome.size);
      const welcome = view(Welcome, bytes);
      welcome.magic = messageMagic;
      welcome.version = constants.VERSION;
      socket.on("error", () => {});
      socket.once("data", (said) => {
        const isHigh = view(Hello, Uint8Array.from(said).buffer).class === classes.high;
        const own = { kind: isHigh ? "high" : "best-effort", slot: 0 } as const;
        const parts: Part[] = isHigh ? [own] : [own, { kind: "hold", slot: 0 }];
        for (const part of parts) region.add(part);
        welcome.holds = isHigh ? 0 : 1;
        const files = [region.fd, ...parts.map((part) => region.file(part) ?? -1)];
        sendWithDescriptors(descriptorOf(socket), new Uint8Array(bytes), files);
      });
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    onTestFinished(() => void server.close());
    return machine;
  }

  test("of this version is used, which shows that the next cases fail for their version alone", async () => {
    const machine = await agentOfVersion(constants.VERSION);
    const { status, stderr } = await machine.run("best-effort", briefly).ended;
    expect(stderr).not.toContain("cotenant: ");
    expect(status).toBe(0);
  });

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
  const { header, roster } = machine.memory();
  expect(header).toMatchObject({ version: constants.VERSION, size: Region.size });
  expect(roster.registered).toBe(1);

  const { heldSeconds, launches } = await machine.bestEffortOf(bestEffort);
  await eventually("best-effort work goes on, and is held again", async () => {
    const now = await machine.bestEffortOf(bestEffort);
    return now.heldSeconds > heldSeconds && now.launches > launches;
  });
  expect((await high.finish()).result.requests).toBeGreaterThan(0);
  expect((await bestEffort.finish()).result.requests).toBeGreaterThan(0);
});
