// What a restart of the agent, orderly or not, means for processes that have its memory mapped.
import { type ChildProcess, spawn } from "node:child_process";
import { ftruncateSync, openSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { pathsIn, runningAgent, SharedRegion, startAgent } from "#agent";
import { systemClock } from "#core";
import { policyNamed } from "#policy";
import { welcomeStatus } from "#protocol";
import { attach, eventually, temporaryDirectory } from "./fakes.ts";

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(process.execPath, ["--import", "tsx", ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

interface Said {
  readonly event: "attach" | "reattach";
  readonly status: number;
  readonly slot: number;
  readonly inode: number;
  readonly fd: number;
}

/** A client process and what it has said so far. */
function startClient(socketPath: string, kind: "high" | "best-effort") {
  const program = fileURLToPath(new URL("./mapped-client.ts", import.meta.url));
  const child = start([program, socketPath, kind]);
  const said: Said[] = [];
  if (child.stdout)
    createInterface(child.stdout).on("line", (line) => said.push(JSON.parse(line) as Said));
  return {
    pid: child.pid ?? 0,
    said,
    kill: () => child.kill("SIGKILL"),
    next: async (event: Said["event"]): Promise<Said> => {
      await eventually(() => said.some((one) => one.event === event));
      return said.splice(0).findLast((one) => one.event === event) as Said;
    },
    ended: () => child.exitCode !== null || child.signalCode !== null,
  };
}

async function startAgentHere(directory: string) {
  const agent = await startAgent({
    directory,
    uid: process.getuid?.() ?? 0,
    gpu: "soft",
    mode: "isolated",
    policy: policyNamed("strict"),
    overrides: {},
    port: 0,
    env: {},
    clock: systemClock,
    log: () => {},
  });
  onTestFinished(() => agent.stop("the test is over"));
  return agent;
}

/** The region as another process has it open. */
const regionOf = (pid: number, fd: number) =>
  new SharedRegion(openSync(`/proc/${pid}/fd/${fd}`, "r+"));

test("neither a killed agent, nor its restart, nor an attempt to truncate hurts a process that has the region mapped", async () => {
  const directory = temporaryDirectory();
  const { socket } = pathsIn(directory);
  const up = () => {
    const child = start(["src/cli/main.ts", "up", "--foreground", "--gpu", "soft"], {
      COTENANT_DIR: directory,
    });
    return eventually(() => runningAgent(directory)?.pid === child.pid).then(() => child);
  };
  const first = await up();
  const client = startClient(socket, "high");
  const attached = await client.next("attach");
  const region = regionOf(client.pid, attached.fd);
  const [slot] = region.memory.high;
  const stillCounts = async () => {
    const before = slot?.launches ?? 0;
    await eventually(() => (slot?.launches ?? 0) > before + 5);
    return !client.ended();
  };

  first.kill("SIGKILL");
  expect(await stillCounts()).toBe(true);

  await up();
  const again = await client.next("reattach");
  expect(again).toEqual({ ...attached, event: "reattach", status: welcomeStatus.ok });
  expect(region.memory.header.generation).toBe(2);
  expect(slot).toMatchObject({ state: 1, pid: client.pid, name: "high" });
  expect(await stillCounts()).toBe(true);

  const other = openSync(`/proc/${client.pid}/fd/${attached.fd}`, "r+");
  for (const size of [0, 4096, 10 * 2 ** 20])
    expect(() => ftruncateSync(other, size)).toThrow("EPERM");
  expect(await stillCounts()).toBe(true);
});

test("a client that died while there was no agent is not there for the next one, the living are", async () => {
  const directory = temporaryDirectory();
  const { socket } = pathsIn(directory);
  const before = await startAgentHere(directory);
  const high = startClient(socket, "high");
  const bestEffort = startClient(socket, "best-effort");
  await high.next("attach");
  const { fd } = await bestEffort.next("attach");
  const { memory } = regionOf(bestEffort.pid, fd);
  await before.stop("the test says so");
  memory.activity.active = 1;
  memory.holds.hold.set(0, 1);
  high.kill();
  await eventually(high.ended);

  const after = await startAgentHere(directory);
  const [gpu] = after.status().gpus;
  expect([gpu?.high.length, gpu?.bestEffort.length]).toEqual([0, 1]);
  expect([memory.activity.active, memory.activity.registered, memory.holds.hold.get(0)]).toEqual([
    0, 0, 0,
  ]);
  expect(memory.settings.protect).toBe(1);
  await bestEffort.next("reattach");
  expect(after.status().gpus[0]?.bestEffort[0]?.connected).toBe(true);
});

test("a client that comes after a restart shares the region with those from before", async () => {
  const directory = temporaryDirectory();
  const { socket } = pathsIn(directory);
  const before = await startAgentHere(directory);
  const old = startClient(socket, "high");
  const { inode } = await old.next("attach");
  await before.stop("the test says so");
  await startAgentHere(directory);
  const young = await attach(socket, { class: "best-effort" });
  expect(young.region().inode).toBe(inode);
});

test("a recalled client that never comes back is watched by its pid", async () => {
  const directory = temporaryDirectory();
  const { socket } = pathsIn(directory);
  const before = await startAgentHere(directory);
  const client = startClient(socket, "high");
  await client.next("attach");
  process.kill(client.pid, "SIGSTOP");
  await before.stop("the test says so");
  const after = await startAgentHere(directory);
  expect(after.status().gpus[0]?.high[0]).toMatchObject({ pid: client.pid, connected: false });
  client.kill();
  await eventually(() => after.status().gpus.length === 0);
});

test("when no client is left, the next region is a new one", async () => {
  const directory = temporaryDirectory();
  const { socket } = pathsIn(directory);
  const before = await startAgentHere(directory);
  const client = startClient(socket, "high");
  const { inode } = await client.next("attach");
  await before.stop("the test says so");
  client.kill();
  await eventually(client.ended);
  await startAgentHere(directory);
  const region = (await attach(socket)).region();
  expect(region.memory.header.generation).toBe(1);
  expect(region.inode).not.toBe(inode);
});

test("an agent that finds no notes takes over the region of the first client that reattaches", async () => {
  const directory = temporaryDirectory();
  const { socket, file } = pathsIn(directory);
  const before = await startAgentHere(directory);
  const client = startClient(socket, "high");
  const { inode } = await client.next("attach");
  await before.stop("the test says so");
  rmSync(file);
  await startAgentHere(directory);
  expect(await client.next("reattach")).toMatchObject({ status: welcomeStatus.ok, inode });
});

test("a client whose region is not the one served is told so, and attaches to the one that is", async () => {
  const directory = temporaryDirectory();
  const { socket, file } = pathsIn(directory);
  const before = await startAgentHere(directory);
  const client = startClient(socket, "high");
  await client.next("attach");
  process.kill(client.pid, "SIGSTOP");
  await before.stop("the test says so");
  rmSync(file);
  await startAgentHere(directory);
  const other = await attach(socket, { class: "best-effort" });
  process.kill(client.pid, "SIGCONT");
  const refused = await client.next("reattach");
  expect(refused.status).toBe(welcomeStatus.newRegion);
  const attached = await client.next("attach");
  expect(attached).toMatchObject({ status: welcomeStatus.ok, inode: other.region().inode });
});
