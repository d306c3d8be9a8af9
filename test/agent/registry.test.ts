import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readlinkSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { common, MappedRange } from "#agent";
import { ms } from "#core";
import { constants, Hello, Region, welcomeStatus } from "#protocol";
import { attach, eventually, gpuB, helloBytes, say } from "./fakes.ts";

import { registryAtDoor } from "./registry-at-door.ts";

describe("attaching", () => {
  test("the first client of each class gets slot 0, its identity and a whole region", async () => {
    const { path } = await registryAtDoor();
    const high = await attach(path, { name: "serve" });
    const bestEffort = await attach(path, { class: "best-effort", name: "train" });
    expect([high.welcome.slot, bestEffort.welcome.slot]).toEqual([0, 0]);
    for (const client of [high, bestEffort]) {
      const { header, roster, settings } = client.memory();
      expect(header).toMatchObject({ version: constants.VERSION, size: Region.size });
      expect(header).toMatchObject({ smCount: 132, gpuName: "Fake GPU", agentPid: process.pid });
      expect(roster).toMatchObject({ registered: 1, bestEffort: 1, turn: 0 });
      expect(settings.protect).toBe(1);
    }
  });

  test("a name can't bring line breaks or escape sequences to terminals and logs", async () => {
    const { path, registry } = await registryAtDoor();
    await attach(path, { name: "a\nb\u001b[31mc\u202ed\u2028e", gpuName: "H\u001b[2J" });
    expect(registry.gpus[0]?.clients[0]?.name).toBe("a?b?[31mc?d?e");
    expect(registry.gpus[0]?.identity.name).toBe("H?[2J");
  });

  test("a slot is handed out clean, and its last holder has no part in it", async () => {
    const { path, registry } = await registryAtDoor();
    await attach(path, { class: "best-effort", pid: 2 }); // so that the GPU stays served
    const first = await attach(path, { pid: 1, name: "first" });
    const [before] = first.memory().high;
    if (!before) throw new Error("no slot");
    before.bursts = 7;
    before.histogram.set(5, 7);
    first.hangUp();
    await eventually(() => registry.gpus[0]?.clients.length === 1);
    const second = await attach(path, { pid: 1, name: "second" });
    expect(second.welcome.slot).toBe(0);
    const [after] = second.memory().high;
    expect({ bursts: after?.bursts, bucket: after?.histogram.get(5) }).toEqual({
      bursts: 0,
      bucket: 0,
    });
    before.bursts = 9;
    expect([after?.bursts, registry.gpus[0]?.region.memory.high[0]?.bursts]).toEqual([0, 0]);
  });

  test("who kept the files of a former slot and control page writes to nobody's", async () => {
    const { path, registry } = await registryAtDoor();
    const high = await attach(path, { pid: 1 }); // so that the GPU stays served
    const former = await attach(path, { class: "best-effort", pid: 2 });
    const kept = former.memory();
    former.hangUp();
    await eventually(() => registry.gpus[0]?.clients.length === 1);
    const next = await attach(path, { class: "best-effort", pid: 3 });
    expect(next.welcome.slot).toBe(0);
    const [page, slot] = [kept.holds[0], kept.bestEffort[0]];
    if (!page || !slot) throw new Error("no slot");
    page.word = 1;
    page.active = 1;
    slot.launches = 7;
    slot.waiting = 1;
    for (const memory of [next.memory(), registry.gpus[0]?.region.memory])
      expect([
        memory?.holds[0]?.word,
        memory?.holds[0]?.active,
        memory?.bestEffort[0]?.launches,
      ]).toEqual([0, 0, 0]);
    expect(high.memory().roster.waiting).toBe(0);
  });

  test("a client has no file of another's slot, nor a best-effort one another's control page", async () => {
    const { path } = await registryAtDoor();
    const names = ({ files }: { readonly files: readonly number[] }) =>
      files.map((fd) => readlinkSync(`/proc/self/fd/${fd}`).replace(" (deleted)", ""));
    const first = await attach(path, { class: "best-effort", pid: 1 });
    const second = await attach(path, { class: "best-effort", pid: 2 });
    const high = await attach(path, { pid: 3 });
    const all = "/memfd:cotenant";
    expect(names(first)).toEqual([all, `${all}-best-effort-0`, `${all}-hold-0`]);
    expect(names(second)).toEqual([all, `${all}-best-effort-1`, `${all}-hold-1`]);
    expect(names(high)).toEqual([all, `${all}-high-0`, `${all}-hold-0`, `${all}-hold-1`]);
  });

  test("what all clients have can be written by none, though they open it anew", async () => {
    const { path } = await registryAtDoor();
    const [fd = -1] = (await attach(path, { class: "best-effort" })).files;
    const anew = openSync(`/proc/self/fd/${fd}`, "r+");
    onTestFinished(() => closeSync(anew));
    for (const one of [fd, anew]) {
      expect(() => writeSync(one, "x")).toThrow("EPERM");
      expect(() => ftruncateSync(one, 0)).toThrow("EPERM");
      expect(() => new MappedRange(common.size).put(one, 0, common.size)).toThrow("EPERM");
    }
  });

  test("no file of a client can be made shorter or longer", async () => {
    const { path } = await registryAtDoor();
    const clients = [await attach(path, { class: "best-effort" }), await attach(path)];
    for (const fd of clients.flatMap(({ files }) => files))
      for (const size of [0, 4096 - 1, 10 * 2 ** 20])
        expect(() => ftruncateSync(fd, size)).toThrow("EPERM");
  });

  test("when the slots are full the next client is told so", async () => {
    const { path } = await registryAtDoor();
    for (let i = 0; i < constants.MAX_BEST_EFFORT; i++)
      await attach(path, { class: "best-effort", pid: 10 + i });
    const late = await attach(path, { class: "best-effort", pid: 99 });
    expect(late.welcome.status).toBe(welcomeStatus.full);
    expect(late.welcome.reason).toMatch(/^All 16 places for best-effort clients on GPU-a0a1a2a3-/);
    await late.closed;
  });

  test("a high client may use two GPUs, a best-effort client is refused the second", async () => {
    const { path } = await registryAtDoor();
    await attach(path);
    expect((await attach(path, { gpu: gpuB })).welcome.status).toBe(welcomeStatus.ok);
    await attach(path, { class: "best-effort" });
    const second = await attach(path, { class: "best-effort", gpu: gpuB });
    expect(second.welcome.status).toBe(welcomeStatus.refused);
    expect(second.welcome.reason).toBe(
      "A best-effort client on several GPUs is refused for now: one paused rank would leave the others spinning. Set CUDA_VISIBLE_DEVICES to one GPU.",
    );
  });

  test("a process that attaches again gives its first slot back", async () => {
    const { path, registry } = await registryAtDoor();
    const before = await attach(path);
    const after = await attach(path);
    expect(after.welcome.slot).toBe(0);
    before.hangUp(); // late news about a slot that is somebody's again
    await attach(path, { pid: 1, startTime: 1 });
    expect(registry.gpus[0]?.clients.map(({ slot, pid }) => [slot, pid])).toEqual([
      [0, process.pid],
      [1, 1],
    ]);
  });

  test("a GPU that the driver does not know is refused, one that it knows is served", async () => {
    const { path, registry } = await registryAtDoor({ knows: (uuid) => uuid.startsWith("GPU-b0") });
    const { welcome } = await attach(path);
    expect(welcome).toMatchObject({
      status: welcomeStatus.refused,
      reason:
        "The driver of this machine knows of no GPU GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf.",
    });
    expect((await attach(path, { gpu: gpuB })).welcome.status).toBe(welcomeStatus.ok);
    expect(registry.gpus).toHaveLength(1);
  });
});

describe("what is not a Hello", () => {
  const other = (change: (bytes: Uint8Array) => Uint8Array) => change(helloBytes({}));
  test.each([
    {
      name: "another magic",
      bytes: helloBytes({ magic: 1 }),
      reason: "That is not a Hello: its magic is wrong.",
    },
    {
      name: "a newer version",
      bytes: helloBytes({ version: constants.VERSION + 1 }),
      reason: `This agent speaks version ${constants.VERSION} of the protocol, the client's library version ${constants.VERSION + 1}: the agent is older. Restart it with the newer Cotenant.`,
    },
    {
      name: "an older version, and shorter",
      bytes: helloBytes({ version: constants.VERSION - 1 }).subarray(0, 40),
      reason: `This agent speaks version ${constants.VERSION} of the protocol, the client's library version ${constants.VERSION - 1}: the client is older. Start it again with the newer Cotenant.`,
    },
    {
      name: "too much",
      bytes: other((bytes) => Uint8Array.from([...bytes, 0])),
      reason: `A Hello has ${Hello.size} bytes, not ${Hello.size + 1}.`,
    },
    {
      name: "an unknown kind",
      bytes: other((bytes) => bytes.with(8, 7)),
      reason: "There is no Hello of kind 7.",
    },
    {
      name: "an unknown class",
      bytes: other((bytes) => bytes.with(12, 7)),
      reason: "There is no class 7.",
    },
    {
      name: "a web browser",
      bytes: new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"),
      reason: "That is not a Hello: its magic is wrong.",
    },
  ])("$name is refused with a reason and hung up on", async ({ bytes, reason }) => {
    const { path } = await registryAtDoor();
    const { welcome, closed } = await say(path, bytes);
    expect({ status: welcome.status, reason: welcome.reason }).toEqual({
      status: welcomeStatus.refused,
      reason,
    });
    await closed;
    expect((await attach(path)).welcome.status).toBe(welcomeStatus.ok);
  });

  test("half a Hello and then silence is hung up on after five seconds", async () => {
    const { path, clock } = await registryAtDoor();
    const answer = say(path, helloBytes({}).subarray(0, 100)).catch(
      (error: Error) => error.message,
    );
    await eventually(() => clock.pending === 1);
    clock.advance(ms(5001));
    expect(await answer).toBe("closed after 0 bytes");
  });

  test("noise in place of a Hello or of its end leaves the agent serving", async () => {
    const { path } = await registryAtDoor();
    const noise = fc.tuple(fc.nat(Hello.size), fc.uint8Array({ minLength: 1, maxLength: 400 }));
    await fc.assert(
      fc.asyncProperty(noise, async ([kept, bytes]) => {
        // The answer does not matter: noise in the later fields may well be let in.
        const answer = say(path, Uint8Array.from([...helloBytes({}).subarray(0, kept), ...bytes]));
        const client = await Promise.race([answer.catch(() => undefined), soon()]);
        client?.hangUp();
      }),
      { numRuns: 50 },
    );
    expect((await attach(path, { class: "best-effort" })).welcome.status).toBe(welcomeStatus.ok);
  });
});

test("a door whose folder is gone cannot listen anew, and does when the folder is back", async () => {
  const { door, path } = await registryAtDoor();
  const folder = dirname(path);
  rmSync(folder, { recursive: true });
  await expect(door.look()).rejects.toThrow("EACCES");
  mkdirSync(folder);
  await door.look();
  expect((await attach(path, {})).welcome.status).toBe(welcomeStatus.ok);
});

const soon = () => new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 20));
