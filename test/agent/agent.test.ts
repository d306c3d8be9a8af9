// A whole agent in this process, on the software GPU's stand-ins, with a clock turned by hand.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { type AgentOptions, pathsIn, runningAgent, type Status } from "#agent";
import { ms, us } from "#core";
import { type Look, type Memory, type Overrides, type Policy, policyNamed } from "#policy";
import { bucketOf, ruleNames, welcomeStatus } from "#protocol";
import { startAgentHere } from "./agent-here.ts";
import {
  attach,
  eventually,
  gpuB,
  HandClock,
  type HelloFields,
  identified,
  temporaryDirectory,
} from "./fakes.ts";

async function agentHere(change: Partial<AgentOptions> = {}) {
  const clock = new HandClock();
  const directory = change.directory ?? temporaryDirectory();
  const agent = await startAgentHere({
    directory,
    env: process.env,
    clock,
    identify: (_, { pid }) => identified(pid), // the tests' clients are all of this process, whatever pids they name
    ...change,
  });
  const ask = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    fetch(`http://127.0.0.1:${agent.file.port}${path}`, { method, headers });
  const authorization = `Bearer ${agent.file.token}`;
  return { agent, clock, directory, ask, authorization, ...pathsIn(directory) };
}

describe("the policy", () => {
  test("has its rules in memory before the first client looks", async () => {
    const { socket } = await agentHere({ mode: "isolated" });
    const { settings } = (await attach(socket)).memory();
    expect(settings).toMatchObject({
      protect: 1,
      isolated: 1,
      chunkUs: 200,
      progressAfterUs: 250_000,
    });
  });

  test("follows what the high clients do, a quarter of a second later", async () => {
    const { socket, clock } = await agentHere();
    const { high, settings } = (await attach(socket)).memory();
    clock.advance(ms(250));
    const [slot] = high;
    for (const counts of [slot?.histogram, slot?.waits]) counts?.set(bucketOf(3_300_000), 20);
    if (slot) slot.bursts = 20;
    clock.advance(ms(250));
    expect(settings.chunkUs).toBe(99);
  });

  test("is overruled by what was set by hand", async () => {
    const overrides: Overrides = { chunkUs: us(77), submission: 1 };
    const { socket } = await agentHere({ overrides, mode: "mps" });
    const { settings } = (await attach(socket)).memory();
    expect(settings).toMatchObject({ chunkUs: 77, submission: 1, isolated: 0, protect: 1 });
  });
});

describe("an objective", () => {
  /** A service beside a training, both at work, and what the agent says of it. */
  async function serving(policy: string, slo: HelloFields) {
    const { agent, clock, socket, ask, authorization } = await agentHere({
      policy: policyNamed(policy),
    });
    const serve = await attach(socket, { name: "serve", ...slo });
    const train = await attach(socket, {
      class: "best-effort",
      name: "train",
      pid: 1,
      startTime: 1,
    });
    const { high, settings } = serve.memory();
    const [service, training] = [high[0], train.memory().bestEffort[0]];
    const work = (seconds: number, burstUs: number) => {
      for (let look = 0; look < seconds * 4; look++) {
        if (!service || !training) throw new Error("no slots");
        const bucket = bucketOf(burstUs * 1000);
        // All its time is the GPU's.
        for (const counts of [service.histogram, service.waits])
          counts.set(bucket, counts.get(bucket) + 25);
        service.bursts += 25;
        training.finishedNs += 1e8;
        clock.advance(ms(250));
      }
      return Object.fromEntries(ruleNames.map((name) => [name, settings[name]]));
    };
    const objective = () => agent.status().gpus.flatMap(({ high }) => high)[0]?.objective;
    const atFirst = objective();
    const metrics = async () => await (await ask("/metrics", { authorization })).text();
    clock.advance(ms(250));
    return { work, objective, metrics, atFirst };
  }

  test("is being learned of from the start, and not where the policy does not act on it", async () => {
    for (const policy of ["cotenant", "slo"])
      expect((await serving(policy, { sloP99Us: 10_000 })).atFirst).toEqual({
        state: "learning",
        level: 0,
      });
    expect((await serving("cotenant", {})).atFirst).toBeUndefined();
    expect((await serving("strict", { sloP99Us: 10_000 })).atFirst).toBeUndefined();
  });

  test("that leaves room lets best-effort work have it, and status says so", async () => {
    const { work, objective, metrics } = await serving("slo", { sloP99Us: 10_000 });
    expect(objective()).toEqual({ state: "learning", level: 0 });
    expect(work(1, 2000)).toMatchObject({ chunkUs: 60, resumeDelayUs: 150, whenActive: 0 });
    expect(work(60, 2000)).toMatchObject({ chunkUs: 2000, resumeDelayUs: 0, whenActive: 2 });
    expect(objective()).toEqual({ state: "met", level: 5 });
    expect(await metrics()).toMatch(/^cotenant_objective_state\{.*name="serve".*state="met"\} 1$/m);
    expect(await metrics()).toMatch(/^cotenant_objective_level\{.*name="serve".*\} 5$/m);
  });

  test("that is broken has full protection a sample later", async () => {
    const { work, objective } = await serving("slo", { sloP99Us: 10_000 });
    work(60, 2000);
    expect(work(0.25, 20_000)).toMatchObject({ resumeDelayUs: 150, whenActive: 0 });
    expect(objective()).toEqual({ state: "missed", level: 0 });
  });

  test("against what the client is alone pauses best-effort work until that was seen", async () => {
    const { work, objective } = await serving("slo", { sloSlowdownPermille: 50 });
    expect(work(1.5, 2000)).toMatchObject({ paused: 1 });
    expect(objective()).toEqual({ state: "learning", level: 0 });
    expect(work(10, 2000)).toMatchObject({ paused: 0 });
    work(30, 2000);
    // Half of the GPU for others is more than 5 % leave: the last level is not even tried.
    expect(objective()).toEqual({ state: "met", level: 4 });
  });

  test("means nothing to strict", async () => {
    const { work, objective } = await serving("strict", { sloP99Us: 10_000 });
    expect(work(60, 2000)).toMatchObject({ chunkUs: 60, resumeDelayUs: 150, whenActive: 0 });
    expect(objective()).toBeUndefined();
  });
});

test("a policy is shown a client's profile, its bursts and what they waited, and how much it launches", async () => {
  const shown: Parameters<NonNullable<Policy["remember"]>>[0][] = [];
  const strict = policyNamed("strict");
  const policy: Policy = {
    ...strict,
    remember(look) {
      shown.push(look);
      return { level: 0, pausedUntilMs: undefined, clients: new Map() };
    },
  };
  const { socket, clock } = await agentHere({ policy });
  const profile = { soloUs: 3300, gpuSharePermille: 450, training: 1 };
  const { memory } = await attach(socket, { name: "profiled", ...profile });
  await attach(socket, { name: "other", pid: 1, startTime: 1 });
  clock.advance(ms(250));
  const [slot] = memory().high;
  if (slot) {
    slot.launches = 70;
    slot.bursts = 1;
    slot.histogram.set(bucketOf(5_000_000), 1);
    slot.waits.set(bucketOf(20_000), 1);
  }
  clock.advance(ms(250));
  const serving = shown.at(-1)?.high[0];
  expect(serving?.ended?.indexOf(1)).toBe(bucketOf(5_000_000));
  expect(serving?.waited?.indexOf(1)).toBe(bucketOf(20_000));
  expect(shown.at(-1)).toMatchObject({ smCount: 132, isolated: true });
  expect(shown.at(-1)?.high).toEqual([
    expect.objectContaining({
      name: "profiled",
      launches: 70,
      soloUs: 3300,
      gpuShare: 0.45,
      training: true,
    }),
    expect.objectContaining({
      name: "other",
      ended: undefined,
      waited: undefined,
      launches: 0,
      soloUs: undefined,
      gpuShare: undefined,
      training: undefined,
    }),
  ]);
});

test("a pair of clients is told which mode would suit it", async () => {
  const { agent, socket, clock } = await agentHere();
  const recommended = () => {
    clock.advance(ms(250));
    return agent.status().gpus[0]?.recommended;
  };
  const high = await attach(socket, { name: "serve", soloUs: 3300, gpuSharePermille: 450 });
  expect(recommended()).toBeUndefined();
  await attach(socket, { class: "best-effort", name: "train", pid: 1, startTime: 1 });
  expect(recommended()).toEqual({ mode: "mps", reason: expect.stringContaining("serve") });
  high.hangUp();
  await eventually(() => recommended() === undefined);
});

test("the advice heeds that a service was seen to leave gaps", async () => {
  const gaps = (seen: boolean) => ({
    ...policyNamed("cotenant"),
    remember: ({ high }: Look): Memory => ({
      level: 0,
      pausedUntilMs: undefined,
      clients: new Map(high.map(({ id }) => [id, { state: "met", gaps: seen }])),
    }),
  });
  const advised = async (seen: boolean) => {
    const { agent, socket, clock } = await agentHere({ policy: gaps(seen) });
    await attach(socket, { name: "serve", soloUs: 16_000 });
    await attach(socket, { class: "best-effort", name: "train", pid: 1, startTime: 1 });
    clock.advance(ms(250));
    return agent.status().gpus[0]?.recommended?.mode;
  };
  expect(await advised(true)).toBe("mps");
  expect(await advised(false)).toBe("isolated");
});

describe("HTTP", () => {
  const paths = [
    "/status",
    "/metrics",
    "/",
    "/nothing",
    "//status",
    "/STATUS",
    "/status/../metrics",
  ];
  test.each(paths)("%s without the token is unauthorised", async (path) => {
    const { ask, authorization } = await agentHere();
    expect((await ask(path)).status).toBe(401);
    expect((await ask(path, { authorization: "Bearer " })).status).toBe(401);
    expect((await ask(path, { authorization: authorization.slice(0, -1) })).status).toBe(401);
    expect((await ask(path, { authorization: authorization.slice(7) })).status).toBe(401);
  });

  test("/stop without the token stops nothing, with it the agent", async () => {
    const { agent, ask, authorization, directory } = await agentHere();
    expect((await ask("/stop", {}, "POST")).status).toBe(401);
    expect(runningAgent(directory)?.pid).toBe(process.pid);
    expect((await ask("/stop", { authorization }, "POST")).status).toBe(202);
    await agent.stopped;
    expect(existsSync(pathsIn(directory).file)).toBe(false);
  });

  test("/status is the status, /metrics its Prometheus form", async () => {
    const { agent, socket, clock, ask, authorization } = await agentHere();
    await attach(socket, { name: "serve" });
    await attach(socket, { class: "best-effort", name: "train", gpu: gpuB, pid: 1, startTime: 1 });
    clock.advance(ms(250));
    const status = (await (await ask("/status", { authorization })).json()) as Status;
    expect(status.gpus).toEqual(JSON.parse(JSON.stringify(agent.status().gpus)));
    expect(status.gpus.flatMap(({ high }) => high.map(({ name }) => name))).toEqual(["serve"]);
    expect(status.gpus.flatMap(({ bestEffort }) => bestEffort.map(({ name }) => name))).toEqual([
      "train",
    ]);
    const metrics = await (await ask("/metrics", { authorization })).text();
    expect(metrics).toMatch(/^cotenant_burst_duration_seconds_count\{.*name="serve".*\} 0$/m);
    expect(metrics).toMatch(/^cotenant_held_seconds_total\{.*name="train".*\} 0$/m);
  });

  test("listens at 127.0.0.1 and at no other address of the machine", async () => {
    const { agent } = await agentHere();
    const port = agent.file.port.toString(16).toUpperCase().padStart(4, "0");
    const listening = ["tcp", "tcp6"].flatMap((table) => listeningAt(table, port));
    expect(listening).toEqual([`0100007F:${port}`]);
  });

  test("and the other doors and notes are in files of the owner's", async () => {
    const { socket, file, directory } = await agentHere();
    expect(lstatSync(directory).mode & 0o077).toBe(0);
    expect(lstatSync(file).mode & 0o077).toBe(0);
    expect(lstatSync(socket).mode & 0o077).toBe(0);
  });
});

/** Addresses with a listener at the port, from a table in /proc/net, which writes them as hexadecimal words. */
function listeningAt(table: string, port: string): readonly string[] {
  const lines = readFileSync(`/proc/net/${table}`, "utf8").split("\n");
  return lines.flatMap((line) => {
    const [, local = "", , state] = line.trim().split(/\s+/);
    return state === "0A" && local.endsWith(`:${port}`) ? [local] : [];
  });
}

describe("a start that fails", () => {
  test("because the port is taken says so, and leaves the directory to the next", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    onTestFinished(() => void other.close());
    const address = other.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const directory = temporaryDirectory();
    await expect(agentHere({ directory, port })).rejects.toThrow(`Port ${port} is taken.`);
    await agentHere({ directory });
  });

  test("because another agent runs there names its pid", async () => {
    const { directory } = await agentHere();
    await expect(agentHere({ directory })).rejects.toThrow(`(pid ${process.pid})`);
  });

  test("because the path is too long for a socket says so", async () => {
    const directory = `${temporaryDirectory()}/${"x".repeat(100)}`;
    mkdirSync(directory, { mode: 0o700 });
    await expect(agentHere({ directory })).rejects.toThrow("longer than the 107 bytes");
  });
});

test("a client that hangs up is gone from the notes for the next agent", async () => {
  const { socket, directory } = await agentHere();
  const client = await attach(socket);
  expect(runningAgent(directory)?.gpus[0]?.clients).toHaveLength(1);
  client.hangUp();
  await eventually(() => runningAgent(directory)?.gpus.length === 0);
});

test("notes that can't be written cost nobody their slot, and are written with the next change", async () => {
  const said: string[] = [];
  const { socket, directory, file } = await agentHere({ log: (event) => void said.push(event) });
  mkdirSync(`${file}.new`); // where it writes them
  const first = await attach(socket, { pid: 1 });
  expect(first.welcome.status).toBe(welcomeStatus.ok);
  expect(said).toContain("notes not written");
  expect(runningAgent(directory)?.gpus).toEqual([]);
  rmdirSync(`${file}.new`);
  await attach(socket, { pid: 2 });
  expect(runningAgent(directory)?.gpus[0]?.clients.map(({ pid }) => pid)).toEqual([1, 2]);
});

test("an agent whose file is removed or damaged makes it anew within a second", async () => {
  const { clock, directory, file } = await agentHere();
  for (const harm of [() => rmSync(file), () => writeFileSync(file, "{")]) {
    harm();
    expect(runningAgent(directory)).toBeUndefined();
    clock.advance(ms(1000));
    expect(runningAgent(directory)?.pid).toBe(process.pid);
  }
});

test("an agent whose socket is removed listens there anew within a second, and keeps its clients", async () => {
  const { agent, clock, socket } = await agentHere();
  const early = await attach(socket, { pid: 1 });
  rmSync(socket);
  clock.advance(ms(1000));
  await eventually(() => existsSync(socket) && (lstatSync(socket).mode & 0o077) === 0);
  await attach(socket, { pid: 2 });
  expect(agent.status().gpus[0]?.high.map(({ pid }) => pid)).toEqual([1, 2]);
  await agent.stop("the test is over");
  await early.closed;
  expect(existsSync(socket)).toBe(false);
});

test("an agent that cannot listen again says so once, and tries each second", async () => {
  const said: string[] = [];
  const { clock, directory } = await agentHere({
    scope: "machine",
    log: (event) => void said.push(event),
  });
  const { shared, sharedSocket } = pathsIn(directory);
  const notOpened = () => said.filter((event) => event === "socket not opened");
  const second = async () => {
    clock.advance(ms(1000));
    await new Promise((resolve) => setTimeout(resolve, 20)); // an entry would be there by then
  };
  for (const times of [1, 2]) {
    rmSync(shared, { recursive: true });
    for (let seconds = 0; seconds < 3; seconds++) await second();
    expect(notOpened()).toHaveLength(times);
    mkdirSync(shared);
    await second();
    await eventually(() => existsSync(sharedSocket));
  }
});

test("notes that nobody can write are one entry in the log", async () => {
  const said: string[] = [];
  const { clock, directory, file } = await agentHere({ log: (event) => void said.push(event) });
  mkdirSync(`${file}.new`);
  rmSync(file);
  for (let seconds = 0; seconds < 3; seconds++) clock.advance(ms(1000));
  expect(said.filter((event) => event === "notes not written")).toHaveLength(1);
  rmdirSync(`${file}.new`);
  clock.advance(ms(1000));
  expect(runningAgent(directory)?.pid).toBe(process.pid);
});

test("an agent whose directory is removed goes on, and makes way for the one that has made it anew", async () => {
  const old = await agentHere();
  const client = await attach(old.socket, { pid: 1 });
  rmSync(old.directory, { recursive: true });
  old.clock.advance(ms(2000));
  expect(old.agent.status().gpus[0]?.high).toHaveLength(1);
  mkdirSync(old.directory, { mode: 0o700 });
  old.clock.advance(ms(1000));
  expect(runningAgent(old.directory)).toBeUndefined(); // it claims nothing that it has not locked
  const { agent, socket } = await agentHere({ directory: old.directory });
  old.clock.advance(ms(1000));
  await Promise.all([old.agent.stopped, client.closed]);
  expect(runningAgent(old.directory)?.port).toBe(agent.file.port);
  const again = await attach(socket, { pid: 1 });
  expect(again.welcome.status).toBe(welcomeStatus.ok);
});
