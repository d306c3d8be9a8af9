// Grants as clients meet them: who is refused, and what of a Hello the operator decides.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  admissionByFile,
  formatUuid,
  type Identity,
  openListener,
  Registry,
  startTimeOf,
} from "#agent";
import { constants, welcomeStatus } from "#protocol";
import {
  type AttachFields,
  attach,
  gpuA,
  HandClock,
  identified,
  temporaryDirectory,
} from "./fakes.ts";

const AGENT = process.getuid?.() ?? 0;

/** An agent of the machine, to which client `pid` is the process that `who` says. */
async function machineAgent(grants: readonly object[], who: (pid: number) => Partial<Identity>) {
  const directory = temporaryDirectory();
  const file = join(directory, "grants.json");
  writeFileSync(file, JSON.stringify({ version: 1, grants }), { mode: 0o644 });
  const clock = new HandClock();
  const said: string[] = [];
  const log = (event: string, facts = {}) => void said.push(`${event} ${JSON.stringify(facts)}`);
  const registry = new Registry({
    agentPid: process.pid,
    now: () => clock.now(),
    log,
    prepare: () => {},
    knows: () => true,
    admission: admissionByFile(file, AGENT, log),
  });
  const socket = join(directory, "agent.sock");
  const door = await openListener(socket, registry, clock, () => {}, {
    identify: (_, { pid }) => identified(pid, who(pid)),
  });
  onTestFinished(() => door.close());
  const come = (pid: number, fields: AttachFields = {}) =>
    attach(socket, { pid, startTime: pid, ...fields });
  return { registry, socket, come, said };
}

const serving = { name: "serving", to: { user: 1000 }, class: "high" };
const users = (pid: number) => ({ uid: pid < 100 ? 1000 : 2000 });

test("who is not granted high is refused with a sentence, and may be best-effort", async () => {
  const { come, registry, said } = await machineAgent([serving], users);
  expect((await come(1)).welcome.status).toBe(welcomeStatus.ok);
  const refused = await come(200);
  expect(refused.welcome.status).toBe(welcomeStatus.refused);
  expect(refused.welcome.reason).toBe(
    'uid 2000 may only be best-effort here, by the grant "everybody else".',
  );
  expect(refused.files).toEqual([]);
  expect((await come(200, { class: "best-effort" })).welcome.status).toBe(welcomeStatus.ok);
  const [gpu] = registry.gpus;
  expect(gpu?.clients.map(({ pid, grant }) => [pid, grant])).toEqual([
    [1, "serving"],
    [200, "everybody else"],
  ]);
  expect(said.find((line) => line.startsWith("refused"))).toContain("uid 2000");
});

test("every refusal is logged, and one that comes again every second is logged once", async () => {
  const { come, said } = await machineAgent([{ ...serving, slots: 100 }], users);
  const refusals = () => said.filter((line) => line.startsWith("refused"));
  for (let i = 0; i < 3; i++) await come(200);
  expect(refusals()).toEqual([expect.stringContaining('"pid":200')]);
  for (let pid = 1; pid <= constants.MAX_HIGH + 1; pid++) await come(pid);
  expect(refusals().at(-1)).toContain(`All ${constants.MAX_HIGH} places for high clients`);
  await come(201);
  expect(refusals()).toHaveLength(3);
});

test("a tenant gets its slots and no more; what another has does not count, and an end frees one", async () => {
  const limited = { name: "two", to: { everybody: true }, class: "best-effort", slots: 2 };
  const { come } = await machineAgent([limited], users);
  const best = { class: "best-effort" } as const;
  const first = await come(1, best);
  expect((await come(2, best)).welcome.status).toBe(welcomeStatus.ok);
  const third = await come(3, best);
  expect(third.welcome.reason).toBe(
    'uid 1000 has taken all its slots on this GPU (2), by the grant "two".',
  );
  expect((await come(200, best)).welcome.status).toBe(welcomeStatus.ok);
  expect((await come(2, best)).welcome.status).toBe(welcomeStatus.ok); // the same process again
  first.hangUp();
  await expect.poll(async () => (await come(3, best)).welcome.status).toBe(welcomeStatus.ok);
});

test("a grant's share is where turns are given", async () => {
  const favoured = { name: "favoured", to: { user: 1000 }, class: "best-effort", share: 3 };
  const { come } = await machineAgent([favoured], users);
  await come(200, { class: "best-effort" });
  const { memory } = await come(1, { class: "best-effort" });
  expect([...memory().roster.shares.copy().slice(0, 2)]).toEqual([1, 3]);
});

test("processes of one container share slots, whatever users they have", async () => {
  const limited = { name: "one", to: { everybody: true }, class: "high", slots: 1 };
  const { come } = await machineAgent([limited], (pid) => ({ uid: pid, container: "web" }));
  expect((await come(1)).welcome.status).toBe(welcomeStatus.ok);
  expect((await come(2)).welcome.reason).toContain("has taken all its slots");
});

test("memory is at most what the grant says, and an objective is the operator's", async () => {
  const grants = [
    { ...serving, objective: "slowdown=10%" },
    { name: "batch", to: { everybody: true }, class: "best-effort", memory: "1GiB" },
  ];
  const { come, registry } = await machineAgent(grants, users);
  const best = { class: "best-effort" } as const;
  const quotas = [];
  for (const [i, memoryQuota] of [0, 2 ** 20, 2 ** 40].entries())
    quotas.push((await come(200 + i, { ...best, memoryQuota })).welcome.memoryQuota);
  expect(quotas).toEqual([2 ** 30, 2 ** 20, 2 ** 30]);
  await come(1, { sloP99Us: 5, sloSlowdownPermille: 1 });
  const high = registry.gpus[0]?.clients.find((client) => client.class === "high");
  expect(high?.objective).toEqual({ p99Us: undefined, slowdown: 0.1 });
});

test("who is granted nothing gets no slot, and no memory", async () => {
  const none = { name: "nobody", to: { everybody: true }, class: "none" };
  const { come, registry } = await machineAgent([none], users);
  const { welcome, files } = await come(1, { class: "best-effort" });
  expect(welcome.reason).toBe('uid 1000 gets no slot here, by the grant "nobody".');
  expect(files).toEqual([]);
  expect(registry.gpus).toEqual([]);
  const variant = await come(1, { kind: "variant" });
  expect(variant.welcome.reason).toBe('uid 1000 gets no slot here, by the grant "nobody".');
});

test("who was a client of the last agent and may be none of this one loses the slot at once", async () => {
  const own = { pid: process.pid, startTime: startTimeOf(process.pid) ?? 0 };
  const none = { name: "nobody", to: { everybody: true }, class: "none" };
  const { come, registry } = await machineAgent([none], users);
  const noted = { ...own, class: "best-effort", slot: 0, name: "train" } as const;
  registry.recall([{ uuid: formatUuid(gpuA), name: "A GPU", smCount: 132, clients: [noted] }]);
  expect(registry.gpus[0]?.clients).toMatchObject([{ pid: process.pid, connected: false }]);
  await come(1, { ...own, class: "best-effort", kind: "reattach", slot: 0 });
  expect(registry.gpus).toEqual([]);
});
