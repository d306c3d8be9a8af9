// A client may write its own slot and, if it is best-effort, its control page; a high client may write all control pages. Whatever
// it writes there, nobody else dies, stops or is misled for long.
import { describe, expect, test } from "vitest";
import type { Status } from "#agent";
import { rules } from "#protocol";
import { service, training } from "../faults.ts";
import {
  between,
  eventually,
  filesOf,
  type Load,
  type Machine,
  now,
  scribble,
  startMachine,
} from "../machine.ts";

/** Long enough for every periodic look of the agent to have come several times. */
const ATTACK_NS = 5e9;

type Kind = Parameters<typeof scribble>[1];

async function machineWith(...kinds: readonly ("high" | "best-effort")[]) {
  const machine = await startMachine();
  const loads: Load[] = [];
  for (const kind of kinds) {
    const load = machine.load(kind, kind === "high" ? service : training);
    await load.serving;
    loads.push(load);
  }
  return { machine, loads };
}

/** Paths of files of the client's own: its slot, and its control page if it has one. */
async function ownFiles(machine: Machine, client: Load): Promise<readonly string[]> {
  const own = await machine.slotOf(client);
  if (!own) throw new Error("no slot");
  const slots = filesOf(machine, own.class, `${own.slot}`);
  return own.class === "high" ? slots : [...slots, ...filesOf(machine, "hold", `${own.slot}`)];
}

/** While somebody writes into these files. Returns when that began and ended. */
async function during(machine: Machine, kind: Kind, files: readonly string[]) {
  expect(files.length).toBeGreaterThan(0);
  const { residentBytes: before } = (await machine.status()).agent;
  const attacker = scribble(machine, kind, ...files);
  await attacker.said("scribbling");
  const from = now();
  while (now() < from + ATTACK_NS) expectPlausible(await machine.status());
  const { residentBytes } = (await machine.status()).agent;
  expect(residentBytes).toBeLessThan(before + 2 ** 29);
  attacker.signal("SIGKILL");
  await attacker.ended;
  return { from, to: now() };
}

/** Fails if the status shows values that only an agent that believes everything would report. */
function expectPlausible({ gpus }: Status): void {
  // JSON has no infinite numbers: they arrive as null.
  expect(JSON.stringify(gpus)).not.toContain(":null");
  for (const { served, high, bestEffort } of gpus) {
    const { chunkUs = 0 } = served?.rules ?? {};
    expect(chunkUs, JSON.stringify(gpus)).toBeGreaterThanOrEqual(rules.chunkUs.least);
    expect(chunkUs).toBeLessThan(2000);
    const shares = [
      ...high.flatMap(({ activeShare, sharedShare }) => [activeShare, sharedShare]),
      ...bestEffort.flatMap((each) => [
        ...[each.gpuShare / 16, each.heldShare, each.cappedShare, each.turnShare, each.emptyShare],
        ...[each.hold?.usedShare ?? 0, each.hold?.openShare ?? 0],
      ]),
    ];
    for (const share of shares) {
      expect(share).toBeGreaterThanOrEqual(0);
      expect(share).toBeLessThanOrEqual(1);
    }
  }
}

async function getsOn(machine: Machine, client: Load): Promise<void> {
  const before = await machine.slotOf(client);
  await eventually(
    `pid ${client.pid} gets on`,
    async () => {
      const own = await machine.slotOf(client);
      return own?.connected === true && own.launches > (before?.launches ?? 0);
    },
    30_000,
  );
}

/** It served all along, and none of its work is missing. */
async function expectServed(load: Load, { from, to }: { from: number; to: number }): Promise<void> {
  const { served } = await load.finish();
  const half = (from + to) / 2;
  expect(between(served, from, half).length).toBeGreaterThan(0);
  expect(between(served, half, to).length).toBeGreaterThan(0);
}

const attacks = ["extremes", "holes"] as const;

describe.each(attacks)("%s in all that one client may write", (kind) => {
  test("of a best-effort client: a service and another training go on", async () => {
    const { machine, loads } = await machineWith("high", "best-effort", "best-effort");
    const [high, other, attacker] = loads;
    if (!high || !other || !attacker) throw new Error("no clients");
    const when = await during(machine, kind, await ownFiles(machine, attacker));
    await getsOn(machine, other);
    const { heldSeconds } = await machine.bestEffortOf(other);
    await eventually(
      "the other is held as before",
      async () => {
        return (await machine.bestEffortOf(other)).heldSeconds > heldSeconds;
      },
      30_000,
    );
    attacker.signal("SIGKILL");
    await expectServed(high, when);
    await expectServed(other, when);
  });

  test("of a high client, its own slot: another service and a training go on", async () => {
    const { machine, loads } = await machineWith("high", "high", "best-effort");
    const [attacker, high, bestEffort] = loads;
    if (!attacker || !high || !bestEffort) throw new Error("no clients");
    const when = await during(machine, kind, await ownFiles(machine, attacker));
    await getsOn(machine, bestEffort);
    attacker.signal("SIGKILL");
    await expectServed(high, when);
    await expectServed(bestEffort, when);
  });

  test("of a high client, the control pages of others: they end well, and are held as before once it is gone", async () => {
    const { machine, loads } = await machineWith("high", "best-effort", "best-effort");
    const [high, ...others] = loads;
    if (!high) throw new Error("no clients");
    const when = await during(machine, kind, filesOf(machine, "hold"));
    for (const other of others) {
      await getsOn(machine, other);
      const { heldSeconds } = await machine.bestEffortOf(other);
      await eventually(
        "it is held again",
        async () => {
          return (await machine.bestEffortOf(other)).heldSeconds > heldSeconds;
        },
        30_000,
      );
    }
    await expectServed(high, when);
    for (const other of others) expect((await other.finish()).result.requests).toBeGreaterThan(0);
  });
});
