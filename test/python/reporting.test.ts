// Processes of a service that use no GPU report its requests: whose they count as, with real processes.
import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  cotenantItself,
  eventually,
  type Machine,
  startMachine,
  temporaryDirectory,
} from "../e2e/machine.ts";

const start = (...args: string[]) =>
  startMachine({ PYTHONPATH: `${process.cwd()}/python` }, "--policy", "slo", ...args);

const program = (...roles: readonly string[]) => [
  ...["python3", "-B", "test/python/reporting.py"],
  ...roles,
];

/** A service with an objective: a process for each role, the first one the parent of the others. */
const service = (machine: Machine, name: string, ...roles: readonly string[]) =>
  machine.elsewhere([
    ...[...cotenantItself, "run", "--class", "high", "--name", name],
    ...["--slo", "ttft.p99=2s", "--slo", "itl.p99=2s", "--", ...program(...roles)],
  ]);

const clientsOf = async (machine: Machine, name = "llm") => {
  const { gpus } = await machine.status();
  return gpus.flatMap(({ high }) => high).filter((client) => client.name === name);
};

const clientOf = async (machine: Machine, name?: string) => (await clientsOf(machine, name))[0];

/** Processes that the agent has accepted as reporters, as its log names them. */
async function acceptedBy(machine: Machine): Promise<readonly number[]> {
  const { stdout } = await machine.cotenant(["events", "--json"]);
  const entries = stdout.split("\n").filter((line) => line.includes('"reports"'));
  return entries.map((line) => JSON.parse(line).pid);
}

/** Whether what is told counts for all of its clients' objectives, or for none. */
const isHeard = async (machine: Machine, heard: boolean, name = "llm") =>
  await eventually(`${name} is ${heard ? "heard" : "unheard"}`, async () => {
    const clients = await clientsOf(machine, name);
    return (
      clients.length > 0 &&
      clients.every(({ objective, requests }) =>
        heard
          ? objective?.state !== "unheard" && requests?.kinds.length === 2
          : objective?.state === "unheard",
      )
    );
  });

const p99sOf = async (machine: Machine, name: string) =>
  ((await clientOf(machine, name))?.requests?.kinds ?? []).map(({ p99Us }) => p99Us);

test.each([
  ["a child", ["gpu", "quick"], 1],
  ["a parent", ["quick", "gpu"], 1],
  ["the parent of several clients", ["quick", "gpu", "gpu"], 2],
])("what %s of the process on the GPU tells is its service's", async (_, roles, count) => {
  const machine = await start();
  service(machine, "llm", ...roles);
  await eventually("its clients", async () => (await clientsOf(machine)).length === count);
  await isHeard(machine, true);
  const clients = await clientsOf(machine);
  for (const client of clients) {
    expect(client.reporters).toEqual(await acceptedBy(machine));
    expect(client.reporters).not.toContain(client.pid);
    expect(client.told?.times.itl?.p50Us).toBeGreaterThan(19_000);
    expect(client.requests?.url).toBe("");
    expect(client.requests?.unheard).toBeUndefined();
    expect(machine.memory().high[client.slot]?.serves).toBe(1);
  }
  // Its processes are one service, and one of them stands for it.
  const { stdout } = await machine.cotenant(["status"]);
  const said = [
    ...stdout.replace(/\s+/g, " ").matchAll(/requests that llm \(pid (\d+)\) (.*?): /g),
  ];
  expect(said.map(([, , how]) => how)).toEqual([`reports, by process ${clients[0]?.reporters[0]}`]);
  expect(clients.map(({ pid }) => `${pid}`)).toContain(said[0]?.[1]);
});

test.each([
  ["a sibling", ["nothing", "gpu", "quick"], "llm"],
  ["a process of another service", ["gpu"], "other"],
])("what %s tells counts for nobody", async (_, roles, name) => {
  const machine = await start();
  service(machine, "llm", ...roles);
  await eventually("the client", async () => (await clientOf(machine)) !== undefined);
  if (name !== "llm") service(machine, name, "quick");
  await eventually("the reporter", async () => (await acceptedBy(machine)).length === 1);
  const since = (await machine.status()).agent.upSeconds;
  await eventually("looks", async () => (await machine.status()).agent.upSeconds > since + 2);
  expect(await clientOf(machine)).toMatchObject({ reporters: [] });
  expect((await clientOf(machine))?.told).toBeUndefined();
  await isHeard(machine, false);
});

test("processes that lie change the judgement of their own services alone", async () => {
  const machine = await start();
  service(machine, "liar", "gpu", "slow");
  service(machine, "flooded", "gpu", "flood", "flood");
  service(machine, "llm", "gpu", "quick");
  const isLate = async (name: string) => (await p99sOf(machine, name)).some((us = 0) => us > 2e6);
  await eventually("the liar is late", () => isLate("liar"));
  await isHeard(machine, true, "flooded");
  await isHeard(machine, true);
  expect(await isLate("llm")).toBe(false);
  expect((await clientOf(machine, "flooded"))?.reporters).toHaveLength(2);
});

test("when it has ended, the service is protected as if nothing had been told", async () => {
  const machine = await start();
  service(machine, "llm", "gpu", "quick");
  await isHeard(machine, true);
  const [reporter = 0] = (await clientOf(machine))?.reporters ?? [];
  process.kill(reporter, "SIGKILL");
  await isHeard(machine, false);
  const client = await clientOf(machine);
  expect(client).toMatchObject({ reporters: [], requests: { kinds: [] } });
  expect(client?.told).toBeUndefined();
  expect(client?.requests?.unheard).toContain("it has not reported one yet");
  expect(machine.memory().high[client?.slot ?? 0]?.serves).toBe(0);
});

test("it tells the next agent, too, and a forked child tells by itself", async () => {
  const machine = await start();
  service(machine, "llm", "gpu", "forks");
  await eventually("both", async () => (await clientOf(machine))?.reporters.length === 2);
  await isHeard(machine, true);
  const before = (await clientOf(machine))?.reporters;
  await machine.killAgent();
  await machine.up("--policy", "slo");
  await isHeard(machine, true);
  await eventually("both again", async () => (await clientOf(machine))?.reporters.length === 2);
  expect(new Set((await clientOf(machine))?.reporters)).toEqual(new Set(before));
});

test.skipIf(process.getuid?.() !== 0)(
  "what another user's process tells is not counted",
  async () => {
    const grants = `${temporaryDirectory()}.json`;
    writeFileSync(
      grants,
      JSON.stringify({
        version: 1,
        grants: [{ name: "all", to: { everybody: true }, class: "high", slots: 4 }],
      }),
    );
    const machine = await start("--system", "--grants", grants);
    service(machine, "llm", "gpu", "other", "quick");
    await isHeard(machine, true);
    await eventually("both", async () => (await acceptedBy(machine)).length === 2);
    const since = (await machine.status()).agent.upSeconds;
    await eventually("looks", async () => (await machine.status()).agent.upSeconds > since + 1);
    expect((await clientOf(machine))?.reporters).toHaveLength(1);
  },
);
