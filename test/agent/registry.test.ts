import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, ftruncateSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  admitAll,
  createMemoryFile,
  type Identify,
  openDoor,
  Registry,
  SharedRegion,
  sealSize,
  startTimeOf,
} from "#agent";
import { ms } from "#core";
import { constants, Hello, Region, view, welcomeStatus } from "#protocol";
import {
  attach,
  eventually,
  gpuB,
  HandClock,
  helloBytes,
  identified,
  say,
  temporaryDirectory,
} from "./fakes.ts";

/** The tests' clients are all of this process, whatever pids they name. */
const anybody: Identify = (_, { pid }) => identified(pid);

async function registryAtDoor(
  around: { readonly identify?: Identify; readonly knows?: Knows } = {},
) {
  const clock = new HandClock();
  const registry = new Registry({
    agentPid: process.pid,
    now: () => clock.now(),
    log: () => {},
    prepare: (gpu) => {
      gpu.region.memory.settings.protect = 1;
    },
    admission: admitAll,
    knows: around.knows ?? (() => true),
  });
  const path = `${temporaryDirectory()}/agent.sock`;
  const identify = around.identify ?? anybody;
  const door = await openDoor(path, registry, clock, () => {}, { identify });
  onTestFinished(() => door.close());
  return { clock, registry, path };
}

type Knows = (uuid: string) => boolean | undefined;

const bit = (slot: number) => (1 << slot) >>> 0;

describe("attaching", () => {
  test("the first client of each class gets slot 0, its identity and a whole region", async () => {
    const { path } = await registryAtDoor();
    const high = await attach(path, { name: "serve" });
    const bestEffort = await attach(path, { class: "best-effort", name: "train" });
    expect([high.welcome.slot, bestEffort.welcome.slot]).toEqual([0, 0]);
    const { memory } = high.region();
    expect(memory.header).toMatchObject({ version: constants.VERSION, size: Region.size });
    expect(memory.header).toMatchObject({ smCount: 132, gpuName: "Fake GPU", generation: 1 });
    expect(memory.high[0]).toMatchObject({ state: 1, pid: process.pid, name: "serve" });
    expect(memory.bestEffort[0]).toMatchObject({ state: 1, pid: process.pid, name: "train" });
    expect(memory.activity.registered).toBe(1);
    expect(memory.settings.protect).toBe(1);
  });

  test("a name can't bring line breaks or escape sequences to terminals and logs", async () => {
    const { path, registry } = await registryAtDoor();
    await attach(path, { name: "a\nb\u001b[31mc\u202ed\u2028e", gpuName: "H\u001b[2J" });
    expect(registry.gpus[0]?.clients[0]?.name).toBe("a?b?[31mc?d?e");
    expect(registry.gpus[0]?.identity.name).toBe("H?[2J");
  });

  test("a slot is handed out clean, whatever its last holder left in it", async () => {
    const { path } = await registryAtDoor();
    await attach(path, { class: "best-effort", pid: 2 }); // so that the memory stays
    const first = await attach(path, { pid: 1, name: "first" });
    const { memory } = first.region();
    const [slot] = memory.high;
    if (!slot) throw new Error("no slot");
    slot.bursts = 7;
    slot.histogram.set(5, 7);
    first.hangUp();
    await eventually(() => slot.state === 0);
    const second = await attach(path, { pid: 1, name: "second" });
    expect(second.welcome.slot).toBe(0);
    expect({ bursts: slot.bursts, bucket: slot.histogram.get(5), name: slot.name }).toEqual({
      bursts: 0,
      bucket: 0,
      name: "second",
    });
  });

  test("when the slots are full the next client is told so", async () => {
    const { path } = await registryAtDoor();
    for (let i = 0; i < constants.MAX_BEST_EFFORT; i++)
      await attach(path, { class: "best-effort", pid: 10 + i });
    const late = await attach(path, { class: "best-effort", pid: 99 });
    expect(late.welcome.status).toBe(welcomeStatus.full);
    expect(late.welcome.reason).toMatch(/^All 8 places for best-effort clients on GPU-a0a1a2a3-/);
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
    const { path } = await registryAtDoor();
    const before = await attach(path);
    const after = await attach(path);
    expect(after.welcome.slot).toBe(0);
    before.hangUp(); // late news about a slot that is somebody's again
    await attach(path, { pid: 1, startTime: 1 });
    expect(
      after
        .region()
        .memory.high.map(({ state }) => state)
        .slice(0, 3),
    ).toEqual([1, 1, 0]);
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
      name: "another version",
      bytes: helloBytes({ version: 9 }),
      reason: `This agent speaks version ${constants.VERSION}, not 9: restart the older of the two.`,
    },
    {
      name: "another version, and shorter",
      bytes: helloBytes({ version: 9 }).subarray(0, 40),
      reason: `This agent speaks version ${constants.VERSION}, not 9: restart the older of the two.`,
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
        // What becomes of it is not the point: noise in the later fields may well be let in.
        const answer = say(path, Uint8Array.from([...helloBytes({}).subarray(0, kept), ...bytes]));
        const client = await Promise.race([answer.catch(() => undefined), soon()]);
        client?.hangUp();
      }),
      { numRuns: 50 },
    );
    expect((await attach(path, { class: "best-effort" })).welcome.status).toBe(welcomeStatus.ok);
  });
});

const soon = () => new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 20));

describe("reattaching", () => {
  /** A memory file of this process with the size of a region, as a client of an earlier agent would have it. */
  function regionFile(uuid: Uint8Array, sealed: boolean): number {
    const fd = createMemoryFile("cotenant");
    onTestFinished(() => closeSync(fd));
    ftruncateSync(fd, Region.size);
    if (sealed) sealSize(fd);
    new SharedRegion(fd).writeHeader({ uuid, name: "a\u001b[2J", smCount: 7 }, 1, 1);
    return fd;
  }
  const again = { kind: "reattach", slot: 0 } as const;

  test("memory that says that it is another GPU's replaces nobody's, and serves nobody", async () => {
    const { path, registry } = await registryAtDoor();
    await attach(path, { gpu: gpuB });
    const before = registry.gpus.map(({ region }) => region.inode);
    const { welcome } = await attach(path, { ...again, passed: regionFile(gpuB, true) });
    expect(welcome.status).toBe(welcomeStatus.newRegion);
    expect(registry.gpus.map(({ region }) => region.inode)).toEqual(before);
  });

  test("memory whose size can change is not taken over, for somebody could shorten it", async () => {
    const { path, registry } = await registryAtDoor();
    const adopted = async (sealed: boolean) => {
      const passed = regionFile(gpuB, sealed);
      const memory = new SharedRegion(passed);
      const [slot] = memory.memory.high;
      if (!slot) throw new Error("no slot");
      Object.assign(slot, { state: 1, pid: process.pid, startTime: startTimeOf(process.pid) });
      slot.name = "x\u001b]0;y";
      const client = await attach(path, { ...again, gpu: gpuB, passed });
      const status = client.welcome.status;
      const names = registry.gpus.flatMap(({ identity, clients }) => [
        identity.name,
        ...clients.map(({ name }) => name),
      ]);
      client.hangUp();
      await eventually(() => registry.gpus.length === 0);
      return { status, names };
    };
    expect(await adopted(false)).toEqual({ status: welcomeStatus.newRegion, names: [] });
    expect(await adopted(true)).toEqual({ status: welcomeStatus.ok, names: ["a?[2J", "fake"] });
  });

  test("what an earlier agent's memory says of clients can't bring escape sequences to terminals", async () => {
    const { path, registry } = await registryAtDoor();
    const passed = regionFile(gpuB, true);
    const [first, second] = new SharedRegion(passed).memory.high;
    if (!first || !second) throw new Error("no slots");
    for (const slot of [first, second])
      Object.assign(slot, { state: 1, pid: process.pid, startTime: startTimeOf(process.pid) });
    second.name = "x\u001b]0;y";
    await attach(path, { ...again, gpu: gpuB, passed });
    expect(registry.gpus[0]?.clients.map(({ name }) => name)).toEqual(["fake", "x?]0;y"]);
  });

  test("memory that is under a lease is not waited for", async () => {
    const { registry } = await registryAtDoor();
    const program = fileURLToPath(new URL("./lease-holder.ts", import.meta.url));
    const child = spawn(process.execPath, ["--import", "tsx", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [line] = await once(createInterface(child.stdout), "line");
    const { pid = 0 } = child;
    const { fd } = JSON.parse(line);
    const bytes = helloBytes({ ...again, pid, gpu: gpuB }).slice().buffer;
    const reply = registry.answer(view(Hello, bytes), identified(pid), `/proc/${pid}/fd/${fd}`);
    expect(reply.status).toBe(welcomeStatus.newRegion);
    expect(registry.gpus).toEqual([]);
  });

  test("with the slot of another process is refused", async () => {
    const { path } = await registryAtDoor();
    const client = await attach(path, { pid: 1, startTime: 1 });
    const { fd } = client.region();
    const { welcome } = await attach(path, { ...again, passed: fd });
    expect(welcome.status).toBe(welcomeStatus.newRegion);
    expect((await attach(path, { ...again, slot: 3, passed: fd })).welcome.status).toBe(
      welcomeStatus.newRegion,
    );
  });

  test("with other memory of the same GPU is refused, though the slot is its own", async () => {
    const { path } = await registryAtDoor();
    await attach(path, { gpu: gpuB });
    const { welcome } = await attach(path, {
      ...again,
      gpu: gpuB,
      passed: regionFile(gpuB, true),
    });
    expect(welcome).toMatchObject({ status: welcomeStatus.newRegion, slot: -1 });
  });

  test("with the memory served and its own slot has it back", async () => {
    const { path } = await registryAtDoor();
    const client = await attach(path);
    const { welcome } = await attach(path, { ...again, passed: client.region().fd });
    expect(welcome).toMatchObject({ status: welcomeStatus.ok, slot: 0 });
  });
});

describe("hanging up", () => {
  test("a high client that dies in a burst leaves nobody held", async () => {
    const { path } = await registryAtDoor();
    const high = await attach(path, { pid: 1 });
    const bestEffort = await attach(path, { class: "best-effort", pid: 2 });
    const region = bestEffort.region();
    const { activity, holds, high: slots } = region.memory;
    region.setBits("active", bit(high.welcome.slot));
    holds.hold.set(bestEffort.welcome.slot, 1);
    high.hangUp();
    await eventually(() => slots[0]?.state === 0);
    expect({
      active: activity.active,
      registered: activity.registered,
      hold: holds.hold.get(0),
    }).toEqual({ active: 0, registered: 0, hold: 0 });
  });

  test("holds stay while another high client is active", async () => {
    const { path } = await registryAtDoor();
    const first = await attach(path, { pid: 1 });
    await attach(path, { pid: 2 });
    const region = (await attach(path, { class: "best-effort", pid: 3 })).region();
    region.setBits("active", 0b11);
    region.memory.holds.hold.set(0, 1);
    first.hangUp();
    await eventually(() => region.memory.high[0]?.state === 0);
    expect([region.memory.activity.active, region.memory.holds.hold.get(0)]).toEqual([0b10, 1]);
  });

  test("the turn of a dead best-effort client goes to the next one that waits", async () => {
    const { path } = await registryAtDoor();
    const clients = [];
    for (let i = 0; i < 4; i++)
      clients.push(await attach(path, { class: "best-effort", pid: 10 + i }));
    const region = clients[0]?.region();
    if (!region) throw new Error("no client");
    const { activity, bestEffort } = region.memory;
    activity.turn = 1;
    region.setBits("waiting", 0b1011);
    clients[1]?.hangUp();
    await eventually(() => bestEffort[1]?.state === 0);
    expect([activity.turn, activity.waiting]).toEqual([3, 0b1001]);
  });

  test("the last slot's bits are cleared as well as the first's", async () => {
    const { path } = await registryAtDoor();
    let last = await attach(path, { pid: 10 });
    for (let i = 1; i < constants.MAX_HIGH; i++) last = await attach(path, { pid: 10 + i });
    const region = last.region();
    expect(last.welcome.slot).toBe(31);
    expect(region.memory.activity.registered).toBe(0xffffffff);
    region.setBits("active", bit(31));
    last.hangUp();
    await eventually(() => region.memory.high[31]?.state === 0);
    expect([region.memory.activity.active, region.memory.activity.registered]).toEqual([
      0, 0x7fffffff,
    ]);
  });
});

describe("healing", () => {
  test("noise all over the region is gone after a look, except in clients' own counters", async () => {
    const { path, registry } = await registryAtDoor();
    const client = await attach(path, { name: "serve" });
    const train = await attach(path, { class: "best-effort", pid: 2, startTime: 1 });
    const { memory } = client.region();
    const noise = new SharedRegion(registry.gpus[0]?.region.fd ?? -1);
    memory.header.version = 77;
    memory.header.size = 1;
    memory.header.gpuName = "nonsense";
    noise.setBits("active", 0xfffffffe);
    noise.setBits("registered", 0xffffffff);
    noise.setBits("waiting", 0xffffff00);
    memory.activity.turn = 5;
    for (const slot of memory.high) slot.state = 3;
    for (const slot of memory.bestEffort) slot.state = 3;
    for (let i = 0; i < 8; i++) memory.holds.hold.set(i, 0xdead);
    registry.heal();
    expect(memory.header).toMatchObject({
      version: constants.VERSION,
      size: Region.size,
      gpuName: "Fake GPU",
    });
    expect(memory.activity).toMatchObject({ active: 0, registered: 1, waiting: 0, turn: 0 });
    expect(memory.high.filter(({ state }) => state !== 0)).toHaveLength(1);
    expect(memory.bestEffort.filter(({ state }) => state !== 0)).toHaveLength(1);
    expect([...memory.holds.hold.copy()]).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    expect(train.welcome.slot).toBe(0);
  });

  test("one bit of a slot that nobody has is cleared, and what it held is let go", async () => {
    const { path, registry } = await registryAtDoor();
    await attach(path, { pid: 1 });
    const region = (await attach(path, { class: "best-effort", pid: 2 })).region();
    region.setBits("active", 0b10);
    region.memory.holds.hold.set(0, 1);
    registry.heal();
    expect([region.memory.activity.active, region.memory.holds.hold.get(0)]).toEqual([0, 0]);
  });

  test("a hold that nobody is there to lift is lifted on the second look at an idle GPU", async () => {
    const { path, registry } = await registryAtDoor();
    await attach(path, { pid: 1 });
    const { memory } = (await attach(path, { class: "best-effort", pid: 2 })).region();
    memory.holds.hold.set(0, 1);
    registry.heal();
    const atFirst = memory.holds.hold.get(0);
    registry.heal();
    expect([atFirst, memory.holds.hold.get(0)]).toEqual([1, 0]);
  });

  test("a hold set by a burst that came between two looks stays", async () => {
    const { path, registry } = await registryAtDoor();
    await attach(path, { pid: 1 });
    const { memory } = (await attach(path, { class: "best-effort", pid: 2 })).region();
    registry.heal();
    memory.activity.activations = 1;
    memory.holds.hold.set(0, 1);
    registry.heal();
    expect(memory.holds.hold.get(0)).toBe(1);
  });
});
