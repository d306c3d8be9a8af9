import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, ftruncateSync, openSync, readlinkSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import koffi from "koffi";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  admitAll,
  common,
  createMemoryFile,
  formatUuid,
  type Identify,
  MappedRange,
  openDoor,
  Registry,
  sealSize,
  startTimeOf,
} from "#agent";
import { ms } from "#core";
import {
  BestEffortSlot,
  constants,
  Hello,
  HighSlot,
  messageMagic,
  Region,
  view,
  welcomeStatus,
} from "#protocol";
import {
  attach,
  dial,
  eventually,
  gpuB,
  HandClock,
  helloBytes,
  identified,
  listenTo,
  newHold,
  say,
  temporaryDirectory,
} from "./fakes.ts";
import { regionBy } from "./region.ts";

const libc = koffi.load("libc.so.6");
const fcntl = libc.func("int fcntl(int fd, int command, ...)");
const memfdCreate = libc.func("int memfd_create(const char *name, unsigned int flags)");
const fallocate = libc.func("int fallocate(int fd, int mode, int64_t offset, int64_t size)");

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
  onTestFinished(async () => {
    await door.close();
    registry.close();
  });
  return { clock, registry, path };
}

type Knows = (uuid: string) => boolean | undefined;

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

  test("who kept the files of a former slot and hold page writes to nobody's", async () => {
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

  test("a client has no file of another's slot, nor a best-effort one another's hold page", async () => {
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

describe("a best-effort client that comes while high clients are there", () => {
  test("is let in once they have mapped its hold page", async () => {
    const { path, registry, clock } = await registryAtDoor();
    const high = await dial(path, helloBytes({ pid: 1 }));
    onTestFinished(() => void high.destroy());
    const { welcome, files } = await listenTo(high, "and goes on listening");
    expect(welcome.holds).toBe(0);
    let isIn = false;
    const coming = attach(path, { class: "best-effort", pid: 2 }).finally(() => {
      isIn = true;
    });
    const { message, page } = await newHold(high);
    expect(message).toMatchObject({ magic: messageMagic, slot: 0 });
    const range = new MappedRange(4096);
    range.put(page, 0, 4096);
    clock.advance(ms(5));
    await soon();
    expect(isIn).toBe(false);
    const { roster, high: slots } = regionBy(welcome, "high", files);
    if (!slots[0]) throw new Error("no slot");
    slots[0].holdsVersion = roster.holdsVersion;
    clock.advance(ms(1));
    const { memory } = await coming;
    // It is the page that it has.
    const [own] = memory().holds;
    new Uint32Array(range.buffer)[0] = 1;
    expect([own?.word, registry.gpus[0]?.region.memory.holds[0]?.word]).toEqual([1, 1]);
  });

  test("is let in after a quarter of a second if one of them is stopped", async () => {
    const { path, clock } = await registryAtDoor();
    await attach(path, { pid: 1, confirms: false });
    const coming = attach(path, { class: "best-effort", pid: 2 });
    await eventually(() => clock.pending > 0);
    clock.advance(ms(251));
    expect((await coming).welcome.status).toBe(welcomeStatus.ok);
  });

  test("is let in beside one that never reads, which keeps few hold pages from being forgotten", async () => {
    const { path, registry } = await registryAtDoor();
    const high = await dial(path, helloBytes({ pid: 1 }));
    onTestFinished(() => void high.destroy());
    const { welcome, files } = await listenTo(high, "and goes on listening");
    const [own] = regionBy(welcome, "high", files).high;
    if (own) own.holdsVersion = 2 ** 32 - 1; // it says that it has mapped them all
    for (let i = 0; i < 100; i++) {
      const client = await attach(path, { class: "best-effort", pid: 2 });
      expect(client.welcome.status).toBe(welcomeStatus.ok);
      client.hangUp();
    }
    await eventually(() => registry.gpus.length === 0); // the connection of the high one is closed
    let unread = 0;
    while ((await newHold(high)).page !== -1) unread++;
    expect(unread).toBeGreaterThanOrEqual(constants.MAX_BEST_EFFORT);
    expect(unread).toBeLessThan(64);
  });

  test("and ends before it is let in leaves its slot", async () => {
    const { path, registry } = await registryAtDoor();
    await attach(path, { pid: 1, confirms: false });
    const socket = await dial(path, helloBytes({ class: "best-effort", pid: 2 }));
    await eventually(() => registry.gpus[0]?.clients.length === 2);
    socket.destroy();
    await eventually(() => registry.gpus[0]?.clients.length === 1);
  });
});

/** A memory file of this process as a client of an earlier agent has it. */
function memoryFile(size: number, sealed = true): number {
  const fd = createMemoryFile("cotenant");
  onTestFinished(() => closeSync(fd));
  ftruncateSync(fd, size);
  if (sealed) sealSize(fd);
  return fd;
}

describe("reattaching", () => {
  const again = { kind: "reattach", slot: 0, gpu: gpuB } as const;

  const high = (sealed = true) => memoryFile(HighSlot.size, sealed);
  const F_SEAL_WRITE = 8;
  const F_SEAL_FUTURE_WRITE = 16;
  function hugePages(): number {
    const MFD_ALLOW_SEALING_HUGETLB = 2 | 4;
    const fd = memfdCreate("cotenant", MFD_ALLOW_SEALING_HUGETLB);
    onTestFinished(() => closeSync(fd));
    ftruncateSync(fd, 2 ** 21);
    sealSize(fd);
    return fd;
  }
  function readOnly(seal: number): number {
    const fd = high(false);
    const F_ADD_SEALS = 1033;
    expect(fcntl(fd, F_ADD_SEALS, "int", seal)).toBe(0);
    sealSize(fd);
    return fd;
  }
  const bestEffort = () => [memoryFile(BestEffortSlot.size), memoryFile(constants.PAGE)];

  test("a client of an earlier agent keeps what it has counted, and is counted on", async () => {
    const { path, registry } = await registryAtDoor();
    const passed = [high()];
    const range = new MappedRange(HighSlot.size);
    range.put(passed[0] ?? -1, 0, HighSlot.size);
    const own = view(HighSlot, range.buffer);
    own.bursts = 7;
    const { welcome } = await attach(path, { ...again, passed });
    expect(welcome).toMatchObject({ status: welcomeStatus.ok, slot: 0 });
    const seen = registry.gpus[0]?.region.memory.high[0];
    own.launches = 9;
    expect(seen).toMatchObject({ bursts: 7, launches: 9 });
  });

  test("a best-effort client keeps its hold page, and a high client that comes back is sent it", async () => {
    const { path } = await registryAtDoor();
    const train = await attach(path, { ...again, class: "best-effort", passed: bestEffort() });
    const serve = await attach(path, { ...again, pid: 1, passed: [high()] });
    expect(serve.welcome).toMatchObject({ status: welcomeStatus.ok, holds: 1 });
    const [[held], [holding]] = [train.memory().holds, serve.memory().holds];
    if (!held || !holding) throw new Error("no pages");
    holding.word = 1;
    expect(held.word).toBe(1);
  });

  test.each<[string, () => readonly number[]]>([
    ["without files", () => []],
    ["with more files than it has", () => [high(), high()]],
    ["with a file whose size can change", () => [high(false)]],
    ["with a file of another size", () => [memoryFile(HighSlot.size + 4096)]],
    ["with a file that nobody can write", () => [readOnly(F_SEAL_WRITE)]],
    ["with a file that only its maker can write", () => [readOnly(F_SEAL_FUTURE_WRITE)]],
    ["with a file of huge pages", () => [hugePages()]],
    ["with what is no memory file", () => [openSync("/dev/null", "r+")]],
  ])("%s is told to attach anew, and serves nobody", async (_, files) => {
    const { path, registry } = await registryAtDoor();
    const { welcome } = await attach(path, { ...again, passed: files() });
    expect(welcome).toMatchObject({ status: welcomeStatus.attachAnew, slot: -1 });
    expect(registry.gpus).toEqual([]);
  });

  test("with the file of another client is told to attach anew, and that one keeps it to itself", async () => {
    const { path, registry } = await registryAtDoor();
    const train = await attach(path, { class: "best-effort", pid: 1, gpu: gpuB });
    const [, , page = -1] = train.files;
    const hers = [memoryFile(BestEffortSlot.size), page];
    const thief = { ...again, class: "best-effort", pid: 2, slot: 1 } as const;
    const { welcome } = await attach(path, { ...thief, passed: hers });
    expect(welcome.status).toBe(welcomeStatus.attachAnew);
    expect(registry.gpus[0]?.clients).toHaveLength(1);
    const [held] = train.memory().holds;
    if (held) held.word = 1;
    expect(registry.gpus[0]?.region.memory.holds[0]?.word).toBe(1);
  });

  test("with slot after slot leaves a process one slot", async () => {
    const { path, registry } = await registryAtDoor();
    const greedy = { ...again, class: "best-effort", pid: 2 } as const;
    for (let slot = 0; slot < constants.MAX_BEST_EFFORT; slot++)
      await attach(path, { ...greedy, slot, passed: bestEffort() });
    expect(registry.gpus[0]?.clients.map(({ slot }) => slot)).toEqual([15]);
  });

  test("with memory out of which it takes the pages hurts nobody", async () => {
    const { path, registry } = await registryAtDoor();
    const files = bestEffort();
    await attach(path, { ...again, class: "best-effort", passed: files });
    const high = await attach(path, { pid: 1, gpu: gpuB });
    const [page] = high.memory().holds;
    if (!page) throw new Error("no page");
    page.word = 1;
    const KEEP_SIZE_PUNCH_HOLE = 1 | 2;
    const sizes = [BestEffortSlot.size, constants.PAGE];
    for (const [i, fd] of files.entries())
      expect(fallocate(fd, KEEP_SIZE_PUNCH_HOLE, 0, sizes[i])).toBe(0);
    registry.heal();
    expect(page.word).toBe(0);
    page.word = 1;
    expect(registry.gpus[0]?.region.memory.holds[0]?.word).toBe(1);
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
    const bytes = helloBytes({ ...again, pid }).slice().buffer;
    const reply = registry.answer(view(Hello, bytes), identified(pid), [`/proc/${pid}/fd/${fd}`]);
    expect(reply.status).toBe(welcomeStatus.attachAnew);
    expect(registry.gpus).toEqual([]);
  });

  test("with the slot of another process is refused, with one that there is not, too", async () => {
    const { path } = await registryAtDoor();
    await attach(path, { pid: 1, startTime: 1, gpu: gpuB });
    for (const slot of [0, -1, constants.MAX_HIGH]) {
      const { welcome } = await attach(path, { ...again, slot, passed: [high()] });
      expect(welcome.status).toBe(welcomeStatus.attachAnew);
    }
  });

  test("what an earlier agent noted of clients can't bring escape sequences to terminals", async () => {
    const { registry } = await registryAtDoor();
    const own = { pid: process.pid, startTime: startTimeOf(process.pid) ?? 0 };
    const noted = { ...own, class: "high", slot: 1, name: "x\u001b]0;y" } as const;
    const gpu = { uuid: formatUuid(gpuB), name: "a\u001b[2J", smCount: 7, clients: [noted] };
    registry.recall([gpu]);
    expect(registry.gpus[0]?.identity.name).toBe("a?[2J");
    expect(registry.gpus[0]?.clients.map(({ name }) => name)).toEqual(["x?]0;y"]);
  });
});

describe("a best-effort client that comes after a restart", () => {
  const own = { pid: process.pid, startTime: startTimeOf(process.pid) ?? 0 };
  const noted = { ...own, class: "high", slot: 2, name: "serve" } as const;
  const gpu = { uuid: formatUuid(gpuB), name: "A GPU", smCount: 132, clients: [noted] };

  test("is held until a high client of the last agent is back, and can tell it", async () => {
    const { path, registry } = await registryAtDoor();
    registry.recall([gpu]);
    const train = { class: "best-effort", gpu: gpuB, pid: 1 } as const;
    const [page] = (await attach(path, train)).memory().holds;
    registry.heal();
    expect([page?.active, page?.word]).toEqual([0b100, 1]);
    const passed = [memoryFile(HighSlot.size)];
    const serve = await attach(path, { kind: "reattach", slot: 2, gpu: gpuB, passed });
    expect(serve.welcome).toMatchObject({ status: welcomeStatus.ok, holds: 1 });
    expect(page?.active).toBe(0b100); // it is the client that knows
  });

  test("is held for two seconds by a high client that does not come back", async () => {
    const { path, registry, clock } = await registryAtDoor();
    registry.recall([gpu]);
    const train = { class: "best-effort", gpu: gpuB, pid: 1 } as const;
    const [page] = (await attach(path, train)).memory().holds;
    clock.advance(ms(2001));
    registry.heal();
    expect([page?.active, page?.word]).toEqual([0, 0]);
  });
});

describe("hanging up", () => {
  /** High clients that come first, and best-effort ones beside them, with the agent's view of the memory. */
  async function served(highCount: number, bestEffortCount: number) {
    const { path, registry } = await registryAtDoor();
    const bestEffort = [];
    for (let i = 0; i < bestEffortCount; i++)
      bestEffort.push(await attach(path, { class: "best-effort", pid: 1000 + i }));
    const high = [];
    for (let i = 0; i < highCount; i++) high.push(await attach(path, { pid: 1 + i }));
    const gpu = registry.gpus[0];
    if (!gpu) throw new Error("no GPU");
    const gone = (kind: "high" | "best-effort", slot: number) =>
      eventually(() => gpu.at(kind, slot) === undefined);
    const { holds, roster } = gpu.region.memory;
    return { gpu, highs: high, clients: bestEffort, gone, holds, roster };
  }

  test("a high client that dies in a burst leaves nobody held", async () => {
    const { gpu, highs, holds, roster, gone } = await served(1, 2);
    for (const slot of [0, 1]) {
      gpu.region.setActive(slot, 0, true);
      if (holds[slot]) holds[slot].word = 1;
    }
    highs[0]?.hangUp();
    await gone("high", 0);
    expect(holds.slice(0, 2).map(({ active, word }) => [active, word])).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(roster.registered).toBe(0);
  });

  test("holds stay while another high client is active", async () => {
    const { gpu, highs, holds, gone } = await served(2, 1);
    for (const slot of [0, 1]) gpu.region.setActive(0, slot, true);
    if (holds[0]) holds[0].word = 1;
    highs[0]?.hangUp();
    await gone("high", 0);
    expect([holds[0]?.active, holds[0]?.word]).toEqual([0b10, 1]);
  });

  test("the turn of a dead best-effort client goes to the next one that waits", async () => {
    const { roster, gpu, clients, gone } = await served(1, 4);
    const slots = gpu.region.memory.bestEffort;
    for (const slot of [0, 1, 3]) if (slots[slot]) slots[slot].waiting = 1;
    await eventually(() => roster.waiting === 0b1011);
    clients[1]?.hangUp();
    await gone("best-effort", 1);
    // A native thread gives turns meanwhile.
    expect(roster.turn).not.toBe(1);
    await eventually(() => roster.waiting === 0b1001);
    expect(roster.bestEffort).toBe(0b1101);
  });

  test("the last slot's bit is cleared as well as the first's", async () => {
    const { gpu, highs, holds, roster, gone } = await served(constants.MAX_HIGH, 1);
    expect(highs.at(-1)?.welcome.slot).toBe(63);
    expect(roster.registered).toBe(64);
    gpu.region.setActive(0, 63, true);
    highs.at(-1)?.hangUp();
    await gone("high", 63);
    expect([holds[0]?.active, roster.registered]).toEqual([0, 63]);
  });
});

describe("healing", () => {
  async function pair() {
    const { path, registry } = await registryAtDoor();
    const train = await attach(path, { class: "best-effort", pid: 2 });
    await attach(path, { pid: 1 });
    const [page] = train.memory().holds;
    const region = registry.gpus[0]?.region;
    if (!page || !region) throw new Error("no page");
    return { registry, page, region };
  }

  test("noise in a hold page is gone after two looks", async () => {
    const { registry, page, region } = await pair();
    for (let slot = 1; slot < constants.MAX_HIGH; slot++) region.setActive(0, slot, true);
    page.word = 0xdead;
    registry.heal();
    registry.heal();
    expect([page.active, page.word]).toEqual([0, 0]);
  });

  test("one bit of a slot that nobody has is cleared, and what it held is let go", async () => {
    const { registry, page, region } = await pair();
    region.setActive(0, 1, true);
    page.word = 1;
    registry.heal();
    expect([page.active, page.word]).toEqual([0, 0]);
  });

  test("a hold that nobody is there to lift is lifted on the second look at an idle GPU", async () => {
    const { registry, page } = await pair();
    page.word = 1;
    registry.heal();
    const atFirst = page.word;
    registry.heal();
    expect([atFirst, page.word]).toEqual([1, 0]);
  });

  test("a hold set by a burst that came between two looks stays", async () => {
    const { registry, page } = await pair();
    registry.heal();
    page.activations = 1;
    page.word = 1;
    registry.heal();
    expect(page.word).toBe(1);
  });
});
