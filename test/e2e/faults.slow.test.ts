// One process dies or hangs; the others must not notice more than they have to.
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { sfc32 } from "#core";
import {
  busyService,
  freezeAgent,
  INSTANTS_MS,
  killClient,
  replaceAgent,
  service,
  training,
} from "./faults.ts";
import {
  between,
  eventually,
  type Load,
  type Machine,
  now,
  perSecond,
  serviceP50Us,
  startMachine,
} from "./machine.ts";

/** A figure moved, but not beyond what chance and a busy machine do to it. */
const SANE = 2;

/** The same instants every time; `npm run soak` looks for others. */
const instants = (seed: number, count: number): readonly number[] => {
  const random = sfc32(seed);
  return Array.from({ length: count }, () => Math.round(random() * INSTANTS_MS));
};

async function startPair(machine: Machine): Promise<{ high: Load; bestEffort: Load }> {
  const high = machine.load("high", service);
  await high.serving; // it finds out how long its kernels last while it is alone
  const bestEffort = machine.load("best-effort", training);
  await bestEffort.serving;
  return { high, bestEffort };
}

describe("SIGKILL of a best-effort client", () => {
  test("at any instant leaves the high client its slot and its latency", async () => {
    const machine = await startMachine();
    const high = machine.load("high", service);
    await high.serving;
    const begun = now();
    await pause(800);
    const slot = (await machine.slotOf(high))?.slot;
    const alone = now();
    for (const afterMs of instants(11, 4))
      await killClient(machine, "best-effort", training, afterMs);
    const killed = now();
    await pause(300);
    expect(await machine.slotOf(high)).toMatchObject({ slot, connected: true });
    const { served } = await high.finish();
    expect(between(served, killed, now()).length).toBeGreaterThan(0);
    const soloUs = serviceP50Us(between(served, begun, alone));
    expect(serviceP50Us(between(served, alone, killed))).toBeLessThan(SANE * soloUs);
  });

  test("while it is parked on the GPU frees its slot, and the next one is held as it was", async () => {
    const machine = await startMachine();
    const high = machine.load("high", busyService);
    await high.serving;
    for (const afterMs of instants(12, 2)) {
      const victim = machine.load("best-effort", training);
      await eventually("it is parked", async () => {
        const own = await machine.slotOf(victim);
        if (!own || !("chunks" in own)) return false;
        const { holds, bestEffort } = machine.memory();
        return own.chunks > 0 && holds[own.slot]?.word === 1 && bestEffort[own.slot]?.waiting === 1;
      });
      await pause(afterMs);
      victim.signal("SIGKILL");
      await victim.ended;
      await eventually("its slot is free", async () => !(await machine.slotOf(victim)));
    }
    const killed = now();
    await pause(300);
    const { result, served } = await high.finish();
    expect(result.requests).toBeGreaterThan(0);
    expect(between(served, killed, now()).length).toBeGreaterThan(0);
  });
});

describe("SIGKILL of a high client", () => {
  test("at any instant gives the best-effort client the GPU back", async () => {
    const machine = await startMachine();
    const bestEffort = machine.load("best-effort", training);
    await bestEffort.serving;
    const begun = now();
    await pause(1000);
    const alone = now();
    for (const afterMs of instants(13, 4)) await killClient(machine, "high", busyService, afterMs);
    const killed = now();
    await pause(1000);
    const later = now();
    const { served } = await bestEffort.finish();
    const before = perSecond(served, begun, alone);
    expect(perSecond(served, killed, later)).toBeGreaterThan(before / SANE);
  });

  test("leaves another high client protected", async () => {
    const machine = await startMachine();
    const { high, bestEffort } = await startPair(machine);
    for (const afterMs of instants(14, 2)) await killClient(machine, "high", busyService, afterMs);
    const { heldSeconds } = await machine.bestEffortOf(bestEffort);
    await eventually(
      "best-effort work is still held for the other",
      async () => (await machine.bestEffortOf(bestEffort)).heldSeconds > heldSeconds,
    );
    expect((await high.finish()).result.requests).toBeGreaterThan(0);
    expect((await bestEffort.finish()).result.requests).toBeGreaterThan(0);
  });
});

describe("SIGKILL of the agent", () => {
  test("and another one in its place: both clients go on, counted and gated as before", async () => {
    const machine = await startMachine();
    const { high, bestEffort } = await startPair(machine);
    const begun = now();
    await pause(1000);
    const [highBefore, trainBefore] = [
      await machine.slotOf(high),
      await machine.bestEffortOf(bestEffort),
    ];
    const killed = now();
    await replaceAgent(machine, 500);
    const replaced = now();
    await eventually(
      "both are back",
      async () =>
        (await machine.slotOf(high))?.connected === true &&
        (await machine.slotOf(bestEffort))?.connected === true,
    );
    await pause(1000);
    const trainAfter = await machine.bestEffortOf(bestEffort);
    const highAfter = await machine.slotOf(high);
    expect([highAfter?.slot, trainAfter.slot]).toEqual([highBefore?.slot, trainBefore.slot]);
    expect(highAfter?.launches).toBeGreaterThan(highBefore?.launches ?? Number.POSITIVE_INFINITY);
    expect(trainAfter.launches).toBeGreaterThan(trainBefore.launches);
    expect(trainAfter.heldShare).toBeGreaterThan(0);

    const served = { high: await high.finish(), bestEffort: await bestEffort.finish() };
    for (const { served: requests } of Object.values(served))
      expect(between(requests, killed, replaced).length).toBeGreaterThan(0);
    const beforeUs = serviceP50Us(between(served.high.served, begun, killed));
    expect(serviceP50Us(between(served.high.served, killed, now()))).toBeLessThan(SANE * beforeUs);
  });
});

describe("SIGSTOP of the agent", () => {
  test("for seconds: both clients go on, and a high client may even come meanwhile", async () => {
    const machine = await startMachine();
    const { high, bestEffort } = await startPair(machine);
    const begun = now();
    await pause(600);
    const { heldSeconds } = await machine.bestEffortOf(bestEffort);
    const stopped = now();
    const late = machine.load("high", service);
    await freezeAgent(machine, 2500);
    const resumed = now();
    await late.serving;
    await eventually("the late one is protected", async () => {
      const client = await machine.slotOf(late);
      return client?.connected === true && client.launches > 0;
    });
    expect(await machine.slotOf(high)).toMatchObject({ connected: true });
    const after = await machine.bestEffortOf(bestEffort);
    expect(after.connected).toBe(true);
    expect(after.heldSeconds).toBeGreaterThan(heldSeconds);

    const { served } = await high.finish();
    expect(between(served, stopped, resumed).length).toBeGreaterThan(0);
    const beforeUs = serviceP50Us(between(served, begun, stopped));
    expect(serviceP50Us(between(served, stopped, resumed))).toBeLessThan(SANE * beforeUs);
    expect(between((await bestEffort.finish()).served, stopped, resumed).length).toBeGreaterThan(0);
    expect((await late.finish()).result.requests).toBeGreaterThan(0);
  });
});
