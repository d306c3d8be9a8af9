// A restart of the agent, orderly or not, beside processes that have its memory mapped.
import { type ChildProcess, spawn } from "node:child_process";
import { rmSync, truncateSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { openFilesOf, pathsIn, REGION_LINK, runningAgent } from "#agent";
import { welcomeStatus } from "#protocol";
import { startAgentHere } from "./agent-here.ts";
import { attach, eventually, temporaryDirectory } from "./fakes.ts";
import { regionOf } from "./region.ts";

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

interface Output {
  readonly event: "attach" | "reattach";
  readonly status: number;
  readonly slot: number;
  /** Inodes of its files: the common one, its slot, its control page. */
  readonly inodes: readonly number[];
}

/** A client process and what it has said so far. */
function startClient(socketPath: string, kind: "high" | "best-effort") {
  const program = fileURLToPath(new URL("./mapped-client.ts", import.meta.url));
  const child = start(["--import", "tsx", program, socketPath, kind]);
  const said: Output[] = [];
  if (child.stdout)
    createInterface(child.stdout).on("line", (line) => said.push(JSON.parse(line) as Output));
  return {
    pid: child.pid ?? 0,
    said,
    kill: () => child.kill("SIGKILL"),
    next: async (event: Output["event"]): Promise<Output> => {
      await eventually(() => said.some((one) => one.event === event));
      return said.splice(0).findLast((one) => one.event === event) as Output;
    },
    ended: () => child.exitCode !== null || child.signalCode !== null,
  };
}

/** Files that another process has open. */
function memoryOf(pid: number) {
  const memory = regionOf(pid);
  if (!memory) throw new Error("it has no memory");
  return memory;
}

test("neither a killed agent, nor its restart, nor an attempt to truncate hurts a process that has the memory mapped", async () => {
  const directory = temporaryDirectory();
  const { socket } = pathsIn(directory);
  const up = () => {
    const child = start(["bin/cotenant", "up", "--foreground", "--gpu", "soft"], {
      COTENANT_DIR: directory,
    });
    return eventually(() => runningAgent(directory)?.pid === child.pid).then(() => child);
  };
  const first = await up();
  const client = startClient(socket, "high");
  const attached = await client.next("attach");
  // Its files change while it takes those of the next agent.
  const slot = () => regionOf(client.pid)?.high[0];
  const stillCounts = async () => {
    let before: number | undefined;
    await eventually(() => {
      const now = slot()?.launches;
      before ??= now;
      return before !== undefined && now !== undefined && now > before + 5;
    });
    return !client.ended();
  };

  first.kill("SIGKILL");
  expect(await stillCounts()).toBe(true);
  const counted = slot()?.launches ?? 0;

  const second = await up();
  const again = await client.next("reattach");
  expect(again).toMatchObject({ status: welcomeStatus.ok, slot: attached.slot });
  const [common, own] = attached.inodes;
  expect(again.inodes[1]).toBe(own);
  expect(again.inodes[0]).not.toBe(common);
  // The agent that came after sees what the client has counted, and counts.
  const seen = memoryOf(second.pid ?? 0);
  expect(seen.header.agentPid).toBe(second.pid);
  expect(seen.high[0]?.launches).toBeGreaterThanOrEqual(counted);
  expect(await stillCounts()).toBe(true);

  for (const path of openFilesOf(client.pid, REGION_LINK))
    for (const size of [0, 4095, 10 * 2 ** 20])
      expect(() => truncateSync(path, size)).toThrow("EPERM");
  expect(await stillCounts()).toBe(true);
});

test("a client that died while there was no agent is not there for the next one, the living are", async () => {
  const directory = temporaryDirectory();
  const { socket } = pathsIn(directory);
  const before = await startAgentHere({ directory });
  const high = startClient(socket, "high");
  await high.next("attach");
  const bestEffort = startClient(socket, "best-effort");
  await bestEffort.next("attach");
  const [page] = memoryOf(bestEffort.pid).holds;
  if (!page) throw new Error("no page");
  await before.stop("the test says so");
  page.active = 1;
  page.word = 1;
  high.kill();
  await eventually(high.ended);

  const after = await startAgentHere({ directory });
  const [gpu] = after.status().gpus;
  expect([gpu?.high.length, gpu?.bestEffort.length]).toEqual([0, 1]);
  await bestEffort.next("reattach");
  const { roster, settings } = memoryOf(bestEffort.pid);
  expect([roster.registered, settings.protect]).toEqual([0, 1]);
  await eventually(() => page.active === 0 && page.word === 0);
  expect(after.status().gpus[0]?.bestEffort[0]?.connected).toBe(true);
});

test("a client that comes after a restart has the same agent's memory as those from before", async () => {
  const directory = temporaryDirectory();
  const { socket } = pathsIn(directory);
  const before = await startAgentHere({ directory });
  const old = startClient(socket, "high");
  await old.next("attach");
  await before.stop("the test says so");
  await startAgentHere({ directory });
  const young = startClient(socket, "best-effort");
  const [{ inodes }, again] = [await young.next("attach"), await old.next("reattach")];
  expect(again.inodes[0]).toBe(inodes[0]);
  expect(memoryOf(young.pid).roster).toMatchObject({ registered: 1, bestEffort: 1 });
});

test("a recalled client that never comes back is watched by its pid", async () => {
  const directory = temporaryDirectory();
  const { socket } = pathsIn(directory);
  const before = await startAgentHere({ directory });
  const client = startClient(socket, "high");
  await client.next("attach");
  process.kill(client.pid, "SIGSTOP");
  await before.stop("the test says so");
  const after = await startAgentHere({ directory });
  expect(after.status().gpus[0]?.high[0]).toMatchObject({ pid: client.pid, connected: false });
  client.kill();
  await eventually(() => after.status().gpus.length === 0);
});

test("an agent that finds no notes gives clients that come back their slots and what they counted", async () => {
  const directory = temporaryDirectory();
  const { socket, file } = pathsIn(directory);
  const before = await startAgentHere({ directory });
  const client = startClient(socket, "high");
  const { inodes } = await client.next("attach");
  await before.stop("the test says so");
  rmSync(file);
  await startAgentHere({ directory });
  const again = await client.next("reattach");
  expect(again).toMatchObject({ status: welcomeStatus.ok, slot: 0 });
  expect(again.inodes[1]).toBe(inodes[1]);
});

test("a client whose slot went to somebody else is told so, and attaches anew", async () => {
  const directory = temporaryDirectory();
  const { socket, file } = pathsIn(directory);
  const before = await startAgentHere({ directory });
  const client = startClient(socket, "high");
  await client.next("attach");
  process.kill(client.pid, "SIGSTOP");
  await before.stop("the test says so");
  rmSync(file);
  await startAgentHere({ directory });
  await attach(socket);
  process.kill(client.pid, "SIGCONT");
  expect((await client.next("reattach")).status).toBe(welcomeStatus.attachAnew);
  expect(await client.next("attach")).toMatchObject({ status: welcomeStatus.ok, slot: 1 });
});
