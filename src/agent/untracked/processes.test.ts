import { spawn } from "node:child_process";
import { closeSync, ftruncateSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Bytes } from "#core";
import { SharedRegion } from "../gpus/region.ts";
import { createMemoryFile, openFilesOf, startTimeOf } from "../system/index.ts";
import { UntrackedProcesses } from "./processes.ts";

const identity = { uuid: new Uint8Array(16), name: "a GPU", smCount: 1 };

/** The untracked processes that an agent with that pid finds, at time 0. */
const untrackedOn = (
  reading: ReturnType<typeof on> | undefined,
  clients: ReadonlySet<number>,
  ownPid: number,
) => new UntrackedProcesses(ownPid, () => 0).on(reading, clients);

/** Another process on the GPU. It has the memory of an agent with that pid open, or none. */
function processOf(agentPid: number | undefined) {
  const region = agentPid === undefined ? undefined : new SharedRegion(identity, agentPid);
  const child = spawn("sleep", ["60"], {
    stdio: ["ignore", "ignore", "ignore", region?.fd ?? "ignore"],
  });
  region?.close();
  onTestFinished(() => void child.kill());
  return child.pid ?? 0;
}

const on = (...pids: readonly number[]) => ({
  uuid: "GPU-00",
  processes: pids.map((pid) => ({ pid, memory: 5 as Bytes })),
});

test("a process without a slot is an untracked process, one with a slot is not", () => {
  const [client, other] = [processOf(undefined), processOf(undefined)];
  expect(untrackedOn(on(client, other), new Set([client]), 1)).toEqual([
    {
      pid: other,
      name: "sleep",
      memory: 5,
      command: "sleep 60",
      agentPid: undefined,
      because: undefined,
      launch: undefined,
      identity: expect.objectContaining({ pid: other, uid: process.getuid?.() }),
    },
  ]);
});

test.each([
  { env: { LD_PRELOAD: "" }, says: "LD_PRELOAD was taken out of its environment" },
  { env: {}, says: "LD_PRELOAD was taken out of its environment" },
  { env: { LD_PRELOAD: "/none/other.so" }, says: "LD_PRELOAD was replaced by /none/other.so" },
  { env: { LD_PRELOAD: "/none/libcotenant.so" }, says: "the loader could not preload" },
  { env: { COTENANT_OFF: "1" }, says: "it runs with COTENANT_OFF" },
])(
  "an untracked process that was made a client says why it is none: $says",
  async ({ env, says }) => {
    const variables = { COTENANT_CLASS: "best-effort", COTENANT_LAUNCHED: "/run/launched/42" };
    const child = spawn("sh", ["-c", "echo; read line"], { env: { ...variables, ...env } });
    onTestFinished(() => void child.kill());
    await new Promise((resolve) => child.stdout.once("data", resolve));
    const [stranger] = untrackedOn(on(child.pid ?? 0), new Set(), 1);
    expect(stranger?.because).toContain(says);
    expect(stranger?.launch).toBe(42);
  },
);

test("a client of another agent that lives is known as such", () => {
  const others = processOf(process.pid);
  expect(untrackedOn(on(others), new Set(), 1)).toMatchObject([{ agentPid: process.pid }]);
});

test("a client of this agent whose slot is gone, and one whose agent is gone, are plain strangers", () => {
  const [ours, orphan] = [processOf(process.pid), processOf(2 ** 22 + 1)];
  expect(untrackedOn(on(ours, orphan), new Set(), process.pid)).toMatchObject([
    { pid: ours, agentPid: undefined },
    { pid: orphan, agentPid: undefined },
  ]);
});

test("a process whose memory file is too short to be an agent's, or empty, is a plain stranger", () => {
  const files = [createMemoryFile("cotenant"), createMemoryFile("cotenant")];
  ftruncateSync(files[1] ?? -1, 16);
  const children = files.map((fd) =>
    spawn("sleep", ["60"], { stdio: ["ignore", "ignore", "ignore", fd] }),
  );
  for (const fd of files) closeSync(fd);
  onTestFinished(() => void children.map((child) => child.kill()));
  const pids = children.map(({ pid = 0 }) => pid);
  expect(untrackedOn(on(...pids), new Set(), 1)).toMatchObject(
    pids.map((pid) => ({ pid, agentPid: undefined })),
  );
});

test("looking at an untracked process leaves none of its files open here", () => {
  const others = processOf(process.pid);
  untrackedOn(on(others), new Set(), 1);
  const before = openFilesOf(process.pid, "/memfd:cotenant").length;
  for (let i = 0; i < 5; i++) untrackedOn(on(others), new Set(), 1);
  expect(openFilesOf(process.pid, "/memfd:cotenant")).toHaveLength(before);
});

test("the server of MPS, in which all its clients' work runs, is no stranger", () => {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-strangers-`);
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = `${directory}/nvidia-cuda-mps-server`;
  symlinkSync("/bin/sleep", path);
  const server = spawn(path, ["60"]);
  onTestFinished(() => void server.kill());
  const [pid = 0, other] = [server.pid, processOf(undefined)];
  expect(untrackedOn(on(pid, other), new Set(), 1).map((stranger) => stranger.pid)).toEqual([
    other,
  ]);
});

test("a GPU that can't be read has no strangers", () => {
  expect(untrackedOn(undefined, new Set(), 1)).toEqual([]);
});

describe("what is reported", () => {
  const none: ReadonlySet<number> = new Set();
  function book() {
    const clock = { now: 0 };
    const strangers = new UntrackedProcesses(1, () => clock.now);
    const told = (readings: Parameters<typeof strangers.takeUnreported>[0], clients = none) => {
      clock.now += 4e8;
      return strangers.takeUnreported(readings, clients).map(({ pid, gpu }) => [pid, gpu]);
    };
    return { clock, strangers, told };
  }

  test("an untracked process that two samples find, once for each GPU", () => {
    const { told } = book();
    const pid = processOf(undefined);
    const gpus = [on(pid), { ...on(pid), uuid: "GPU-11" }];
    expect([told(gpus), told(gpus), told(gpus)]).toEqual([
      [],
      [
        [pid, "GPU-00"],
        [pid, "GPU-11"],
      ],
      [],
    ]);
  });

  test("no process that attaches before the second look, or has ended", async () => {
    const { told } = book();
    const [client, short] = [processOf(undefined), processOf(undefined)];
    const both = [on(client, short)];
    expect(told(both)).toEqual([]);
    process.kill(short);
    await expect.poll(() => startTimeOf(short)).toBe(undefined);
    expect([told(both, new Set([client])), told(both, new Set([client]))]).toEqual([[], []]);
  });

  test("a client whose slot is gone", () => {
    const { told } = book();
    const pid = processOf(undefined);
    expect(told([on(pid)], new Set([pid]))).toEqual([]);
    expect([told([on(pid)]), told([on(pid)])]).toEqual([[], [[pid, "GPU-00"]]]);
  });

  test("a process's files are read when it is new, a second later, and then less and less often", () => {
    const { clock, strangers } = book();
    const pid = processOf(undefined);
    let looks = 0;
    let last: unknown;
    for (clock.now = 0; clock.now < 100e9; clock.now += 4e8) {
      const { identity } = strangers.on(on(pid), none)[0] ?? {};
      if (identity !== last) looks++;
      last = identity;
    }
    expect(looks).toBe(8);
  });
});
