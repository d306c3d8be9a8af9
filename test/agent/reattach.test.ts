// Clients of an earlier agent come back with the memory files that they have.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, ftruncateSync, openSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import koffi from "koffi";
import { describe, expect, onTestFinished, test } from "vitest";
import { createMemoryFile, formatUuid, MappedRange, sealSize, startTimeOf } from "#agent";
import { ms } from "#core";
import { BestEffortSlot, constants, Hello, HighSlot, view, welcomeStatus } from "#protocol";
import { attach, gpuB, helloBytes, identified } from "./fakes.ts";

import { registryAtDoor } from "./registry-at-door.ts";

const libc = koffi.load("libc.so.6");
const fcntl = libc.func("int fcntl(int fd, int command, ...)");
const memfdCreate = libc.func("int memfd_create(const char *name, unsigned int flags)");
const fallocate = libc.func("int fallocate(int fd, int mode, int64_t offset, int64_t size)");
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

  test("a best-effort client keeps its control page, and a high client that comes back is sent it", async () => {
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
