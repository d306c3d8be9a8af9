import { spawn } from "node:child_process";
import { closeSync, ftruncateSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import type { Bytes } from "#core";
import { createRegion } from "../region.ts";
import { createMemoryFile, openFilesOf } from "../system/index.ts";
import { strangersOn } from "./strangers.ts";

const identity = { uuid: new Uint8Array(16), name: "a GPU", smCount: 1 };

/** Another process on the GPU, which has the memory open that an agent of that pid serves, or none. */
function processOf(agentPid: number | undefined) {
  const region = agentPid === undefined ? undefined : createRegion(identity, agentPid);
  const child = spawn("sleep", ["60"], {
    stdio: ["ignore", "ignore", "ignore", region?.fd ?? "ignore"],
  });
  if (region) closeSync(region.fd);
  onTestFinished(() => void child.kill());
  return child.pid ?? 0;
}

const on = (...pids: readonly number[]) => ({
  processes: pids.map((pid) => ({ pid, memory: 5 as Bytes })),
});

test("a process without a slot is a stranger, one with a slot is not", () => {
  const [client, other] = [processOf(undefined), processOf(undefined)];
  expect(strangersOn(on(client, other), new Set([client]), 1)).toEqual([
    {
      pid: other,
      name: "sleep",
      memory: 5,
      agentPid: undefined,
      identity: expect.objectContaining({ pid: other, uid: process.getuid?.() }),
    },
  ]);
});

test("a client of another agent that lives is known as such", () => {
  const others = processOf(process.pid);
  expect(strangersOn(on(others), new Set(), 1)).toMatchObject([{ agentPid: process.pid }]);
});

test("a client of ours whose slot is gone, and one whose agent is gone, are plain strangers", () => {
  const [ours, orphan] = [processOf(process.pid), processOf(2 ** 22 + 1)];
  expect(strangersOn(on(ours, orphan), new Set(), process.pid)).toMatchObject([
    { pid: ours, agentPid: undefined },
    { pid: orphan, agentPid: undefined },
  ]);
});

test("a process that has another memory file open, too short to be an agent's or empty, is a plain stranger", () => {
  const files = [createMemoryFile("cotenant"), createMemoryFile("cotenant")];
  ftruncateSync(files[1] ?? -1, 16);
  const children = files.map((fd) =>
    spawn("sleep", ["60"], { stdio: ["ignore", "ignore", "ignore", fd] }),
  );
  for (const fd of files) closeSync(fd);
  onTestFinished(() => void children.map((child) => child.kill()));
  const pids = children.map(({ pid = 0 }) => pid);
  expect(strangersOn(on(...pids), new Set(), 1)).toMatchObject(
    pids.map((pid) => ({ pid, agentPid: undefined })),
  );
});

test("to look at a stranger leaves nothing of it open here", () => {
  const others = processOf(process.pid);
  strangersOn(on(others), new Set(), 1);
  const before = openFilesOf(process.pid, "/memfd:cotenant").length;
  for (let i = 0; i < 5; i++) strangersOn(on(others), new Set(), 1);
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
  expect(strangersOn(on(pid, other), new Set(), 1).map((stranger) => stranger.pid)).toEqual([
    other,
  ]);
});

test("where the GPU can't be read there are none", () => {
  expect(strangersOn(undefined, new Set(), 1)).toEqual([]);
});
