// Processes that mean the agent no good, at both of its doors: they can neither stop it nor keep others out.
import { execFile, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { pathsIn, runningAgent } from "#agent";
import { Welcome, welcomeStatus } from "#protocol";
import { startAgentHere } from "./agent-here.ts";
import {
  attach,
  dial,
  eventually,
  helloBytes,
  listenTo,
  say,
  temporaryDirectory,
} from "./fakes.ts";

async function agentHere() {
  const directory = temporaryDirectory();
  const agent = await startAgentHere({
    directory,
  });
  const headers = { authorization: `Bearer ${agent.file.token}` };
  const status = () => fetch(`http://127.0.0.1:${agent.file.port}/status`, { headers });
  return { agent, status, ...pathsIn(directory) };
}

/** A connection that says `text`, then nothing, and never hangs up. */
async function silent(to: { readonly port: number } | { readonly path: string }, text = "") {
  const socket = connect({ ...to, allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  socket.resume();
  await new Promise((resolve) => socket.once("connect", resolve));
  if (text) socket.write(text);
  return socket;
}

const manySilent = async (to: Parameters<typeof silent>[0], count: number) => {
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i++) sockets.push(await silent(to));
  return sockets;
};

const ended = (sockets: readonly Socket[]) =>
  sockets.filter(({ readableEnded, destroyed }) => readableEnded || destroyed).length;

/** Regions that this process, in which the agent runs, has open. */
/** Targets of this process' descriptors. */
const openHere = () =>
  readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });

const regionsOpen = () => openHere().filter((link) => link.startsWith("/memfd:cotenant")).length;

const gpu = (number: number) => Uint8Array.from({ length: 16 }, (_, i) => (i === 0 ? number : 9));

describe("without a token", () => {
  test.each([
    { name: "nothing at all", text: "" },
    { name: "half a request", text: "GET /status HTTP/1.1\r\nHost: x\r\n" },
    {
      name: "a request whose body never comes",
      text: "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
    },
  ])("$name on an open connection does not keep the agent from ending", async ({ text }) => {
    const { agent } = await agentHere();
    const socket = await silent({ port: agent.file.port }, text);
    await agent.stop("asked to");
    await eventually(() => ended([socket]) === 1);
  });

  test("connections that say nothing are closed when there are too many, and the owner is served", async () => {
    const { agent, status } = await agentHere();
    const sockets = await manySilent({ port: agent.file.port }, 100);
    await eventually(() => ended(sockets) === 68);
    expect((await status()).status).toBe(200);
  });

  test("a request is answered once, and what follows it is not read", async () => {
    const { agent } = await agentHere();
    const socket = await silent(
      { port: agent.file.port },
      "POST /stop HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n",
    );
    await eventually(() => ended([socket]) === 1);
    expect(runningAgent(agent.file.socket.replace("/agent.sock", ""))?.pid).toBe(process.pid);
  });
});

describe("at the clients' door", () => {
  test("connections that say nothing are closed when there are too many, and clients are served", async () => {
    const { socket } = await agentHere();
    const sockets = await manySilent({ path: socket }, 150);
    await eventually(() => ended(sockets) >= 86);
    expect((await attach(socket)).welcome.status).toBe(welcomeStatus.ok);
  });

  test("who is closed because there are too many reads that the agent is busy", async () => {
    const { socket } = await agentHere();
    const first = await dial(socket, new Uint8Array());
    const answer = listenTo(first);
    await manySilent({ path: socket }, 64);
    const { welcome } = await answer;
    expect(welcome.status).toBe(welcomeStatus.later);
    expect(welcome.reason).toMatch(/^The agent is busy: more than 64 connections wait/);
  });

  test("who was refused and stays is hung up on whole", async () => {
    const { socket } = await agentHere();
    const stays = await silent({ path: socket }, "GET / HTTP/1.1\r\n\r\n");
    await eventually(() => stays.readableEnded);
    const broken = new Promise((resolve) => stays.once("error", resolve));
    stays.write("x");
    expect(await broken).toMatchObject({ code: "EPIPE" });
  });

  test("a client that goes on talking loses its slot", async () => {
    const { agent, socket } = await agentHere();
    const talker = connect(socket);
    onTestFinished(() => void talker.destroy());
    talker.on("error", () => {});
    talker.write(helloBytes({}));
    await new Promise((resolve) => talker.once("data", resolve));
    expect(agent.status().gpus[0]?.high).toHaveLength(1);
    talker.write("and another thing");
    await eventually(() => agent.status().gpus.length === 0);
  });

  test("a process that attaches again and again has one connection", async () => {
    const { agent, socket } = await agentHere();
    const before = [];
    for (let i = 0; i < 20; i++) before.push(await attach(socket));
    const last = await attach(socket);
    await Promise.all(before.map(({ closed }) => closed));
    expect(agent.status().gpus[0]?.high.map(({ slot }) => slot)).toEqual([last.welcome.slot]);
  });

  test("descriptors that nobody asked for are closed", async () => {
    const { socket } = await agentHere();
    const path = `${temporaryDirectory()}/passed`;
    const file = openSync(path, "w");
    onTestFinished(() => closeSync(file));
    const whole = helloBytes({});
    const nonsense = Buffer.from("GET / HTTP/1.1\r\n\r\n");
    const silenced = await dial(socket, whole.subarray(0, 20), [file]); // half a Hello
    for (const bytes of [whole, helloBytes({ kind: "reattach" }), helloBytes({ pid: 1 }), nonsense])
      for (let i = 0; i < 5; i++) (await say(socket, bytes, { passed: [file, file] })).hangUp();
    silenced.destroy();
    await eventually(() => openHere().filter((link) => link === path).length === 1);
  });

  test("made-up GPUs beyond the eighth are refused, and cost nothing once their clients have gone", async () => {
    const { socket } = await agentHere();
    const open = regionsOpen();
    for (let round = 0; round < 3; round++) {
      const clients = [];
      for (let i = 0; i < 8; i++) clients.push(await attach(socket, { gpu: gpu(8 * round + i) }));
      expect(clients.map(({ welcome }) => welcome.status)).toEqual(Array(8).fill(welcomeStatus.ok));
      const { welcome } = await attach(socket, { gpu: gpu(100) });
      expect(welcome).toMatchObject({
        status: welcomeStatus.refused,
        reason:
          "This agent serves 8 GPUs already, and can't tell whether there is one GPU-64090909-0909-0909-0909-090909090909.",
      });
      for (const client of clients) client.hangUp();
      await eventually(() => regionsOpen() === open);
    }
  });
});

describe("in another's name", () => {
  test("a Hello is refused, and the one that it names keeps its slot", async () => {
    const { agent, socket } = await agentHere();
    await attach(socket, { name: "victim" });
    const spoofed = Buffer.from(helloBytes({ name: "thief" })).toString("hex");
    const speak = `const s = require("net").connect(${JSON.stringify(socket)});
      s.write(Buffer.from("${spoofed}", "hex")); s.once("data", (d) => { console.log(d.subarray(${Welcome.offsets.reason}).toString()); s.destroy(); });`;
    const { stdout } = await promisify(execFile)(process.execPath, ["-e", speak]);
    expect(stdout).toMatch(
      new RegExp(
        `^The Hello of process ${process.pid} came from process \\d+: a client must speak for itself\\.`,
      ),
    );
    expect(agent.status().gpus[0]?.high.map(({ name, connected }) => [name, connected])).toEqual([
      ["victim", true],
    ]);
  });

  test("a process that began at another time is refused", async () => {
    const { socket } = await agentHere();
    const { welcome } = await attach(socket, { startTime: 1 });
    expect(welcome).toMatchObject({
      status: welcomeStatus.refused,
      reason: `Process ${process.pid} did not begin at tick 1: it is another one than the Hello names.`,
    });
  });

  test("even a variant is not made", async () => {
    const { socket } = await agentHere();
    const { welcome } = await attach(socket, { kind: "variant", pid: 1, startTime: 1 });
    expect(welcome.reason).toContain("The Hello of process 1 came from process");
  });
});

test("an agent that has no descriptor left says so to the client of a new GPU, and serves the next one", async () => {
  const directory = temporaryDirectory();
  const limit = 64;
  const command = `ulimit -n ${limit}; exec "$0" bin/cotenant up --foreground --gpu soft`;
  const child = spawn("sh", ["-c", command, process.execPath], {
    env: { ...process.env, COTENANT_DIR: directory },
    stdio: "ignore",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await eventually(() => runningAgent(directory)?.pid === child.pid);
  const { socket } = pathsIn(directory);
  const free = () => {
    // An inherited descriptor may have a number beyond the limit.
    const taken = readdirSync(`/proc/${child.pid}/fd`).filter((fd) => Number(fd) < limit);
    return limit - taken.length;
  };
  const holding: Socket[] = [];
  let reason = "";
  while (!reason) {
    if (free() > 1) {
      holding.push(await silent({ path: socket }));
      await pause(5); // until it is accepted
      continue;
    }
    // One descriptor is left, for the connection. Where the agent needs it otherwise just then, nobody is answered.
    const { welcome } = (await attach(socket).catch(() => undefined)) ?? {};
    reason = welcome?.reason ?? "";
  }
  expect(reason).toMatch(/^The agent can't tell who process \d+ is: too many open files\.$/);
  for (const one of holding) one.destroy();
  await eventually(() => free() > 10);
  expect((await attach(socket)).welcome.status).toBe(welcomeStatus.ok);
  expect(readFileSync(`/proc/${child.pid}/comm`, "utf8")).toContain("node");
});

test("an agent that can't make memory says so to the client of a new GPU", async () => {
  const directory = temporaryDirectory();
  // The limit on files holds for memory files, too; the signal would end the agent.
  const command = `trap "" XFSZ; ulimit -f 48; exec "$0" bin/cotenant up --foreground --gpu soft`;
  const child = spawn("sh", ["-c", command, process.execPath], {
    env: { ...process.env, COTENANT_DIR: directory },
    stdio: "ignore",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await eventually(() => runningAgent(directory)?.pid === child.pid);
  const { welcome } = await attach(pathsIn(directory).socket);
  expect(welcome.reason).toMatch(/^The agent can't make memory for the GPU GPU-[-\w]+: .*EFBIG/);
});
