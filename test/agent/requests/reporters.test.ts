// Processes that report the requests of a service, as the agent hears of them: whose they are, and how many there may be.
import { spawn } from "node:child_process";
import { expect, onTestFinished, test } from "vitest";
import { type Identity, MappedRange, pathsIn } from "#agent";
import { systemClock } from "#core";
import { HighSlot, view, welcomeStatus } from "#protocol";
import { startAgentHere } from "../agent-here.ts";
import { attach, eventually, gpuB, identified, temporaryDirectory } from "../fakes.ts";
import { writeTimes } from "../steps/slots.ts";

/** An agent to which each process is whom the test says. */
async function agentOf(identities: ReadonlyMap<number, Partial<Identity>> = new Map()) {
  const directory = temporaryDirectory();
  const agent = await startAgentHere({
    directory,
    env: process.env,
    clock: systemClock,
    identify: (_, { pid }) => identified(pid, identities.get(pid)),
  });
  const { socket } = pathsIn(directory);
  const highs = () => agent.status().gpus.flatMap((gpu) => gpu.high);
  return {
    highs,
    attach: (pid: number, fields = {}) => attach(socket, { pid, name: "llm", ...fields }),
    /** With the counters that it may write. */
    async report(pid: number, name = "llm") {
      const one = await attach(socket, { kind: "report", pid, name });
      const range = new MappedRange(HighSlot.size);
      if (one.files[0] !== undefined) range.put(one.files[0], 0, HighSlot.size);
      return { ...one, counters: view(HighSlot, range.buffer) };
    },
  };
}

/** A process and its child. */
async function family(): Promise<{ readonly parent: number; readonly child: number }> {
  const parent = spawn("sh", ["-c", "sleep 600 & echo $!; wait"]);
  onTestFinished(() => void parent.kill());
  const child = await new Promise<number>((resolve) =>
    parent.stdout.once("data", (text: Buffer) => resolve(Number(text))),
  );
  onTestFinished(() => void process.kill(child));
  return { parent: parent.pid ?? 0, child };
}

test.each([
  ["a parent", "parent", "child", {}, {}, 1],
  ["a child", "child", "parent", {}, {}, 1],
  ["an ancestor", "test", "child", {}, {}, 1],
  ["another user's child", "child", "parent", { uid: 7 }, {}, 0],
  ["a process elsewhere", "other", "child", {}, {}, 0],
  ["one of the same container", "other", "child", { container: "a" }, { container: "a" }, 1],
  ["one of another container", "other", "child", { container: "a" }, { container: "b" }, 0],
  [
    "another user's of the same container",
    "other",
    "child",
    { container: "a", uid: 7 },
    { container: "a" },
    0,
  ],
] as const)(
  "whether %s reports for a client follows from user, lineage and container",
  async (_, who, whose, its, clients, count) => {
    const one = await family();
    const pids = { ...one, test: process.pid, other: (await family()).child };
    const agent = await agentOf(
      new Map<number, Partial<Identity>>([
        [pids[who], its],
        [pids[whose], clients],
      ]),
    );
    await agent.attach(pids[whose]);
    expect((await agent.report(pids[who])).welcome.status).toBe(welcomeStatus.ok);
    expect(agent.highs()[0]?.reporters).toHaveLength(count);
  },
);

test("only processes of the service of the same name are reported for, on each GPU", async () => {
  const { parent, child } = await family();
  const agent = await agentOf();
  await agent.report(parent);
  await agent.attach(child);
  await agent.attach(child, { gpu: gpuB });
  await agent.attach(child, { gpu: gpuB, name: "another", pid: (await family()).child });
  expect(agent.highs().map(({ name, reporters }) => [name, reporters.length])).toEqual([
    ["llm", 1],
    ["llm", 1],
    ["another", 0],
  ]);
});

test("what several tell is added up, and what one told goes with it", async () => {
  const { parent, child } = await family();
  const agent = await agentOf();
  await agent.attach(child);
  const [one, other] = [await agent.report(parent), await agent.report(process.pid)];
  const told = () => agent.highs()[0]?.told;
  for (const { counters } of [one, other]) {
    writeTimes(counters, "e2e", 100, 2);
    counters.requestsOpen = 3;
    counters.requestsFailed = 1;
  }
  const count = () => told()?.histograms.e2e.counts.reduce((sum, one) => sum + one, 0);
  await eventually(() => count() === 4);
  expect(told()).toMatchObject({ open: 6, failed: 2 });
  one.hangUp();
  await eventually(() => count() === 2);
  expect(told()).toMatchObject({ open: 3, failed: 1 });
  other.hangUp();
  await eventually(() => told() === undefined);
});

test("with too many of them the oldest goes, and clients still come", async () => {
  const { parent, child } = await family();
  const agent = await agentOf();
  const oldest = await agent.report(parent);
  for (let i = 0; i < 64; i++) await agent.report(parent);
  await oldest.closed;
  await agent.attach(child);
  expect(agent.highs()[0]?.reporters).toHaveLength(64);
});
