import { describe, expect, test } from "vitest";
import { constants } from "#protocol";
import { attach, eventually } from "./fakes.ts";

import { registryAtDoor } from "./registry-at-door.ts";

describe("hanging up", () => {
  /** High clients that come first, and best-effort ones beside them, with the agent's view of the memory. */
  async function served(highCount: number, bestEffortCount: number) {
    const { path, registry } = await registryAtDoor();
    const bestEffort = [];
    for (let i = 0; i < bestEffortCount; i++)
      bestEffort.push(await attach(path, { class: "best-effort", pid: 1000 + i }));
    const high = [];
    for (let i = 0; i < highCount; i++) high.push(await attach(path, { pid: 1 + i }));
    const gpu = registry.gpus[0];
    if (!gpu) throw new Error("no GPU");
    const gone = (kind: "high" | "best-effort", slot: number) =>
      eventually(() => gpu.at(kind, slot) === undefined);
    const { holds, roster } = gpu.region.memory;
    return { gpu, highs: high, clients: bestEffort, gone, holds, roster };
  }

  test("a high client that dies in a burst leaves nobody held", async () => {
    const { gpu, highs, holds, roster, gone } = await served(1, 2);
    for (const slot of [0, 1]) {
      gpu.region.setActive(slot, 0, true);
      if (holds[slot]) holds[slot].word = 1;
    }
    highs[0]?.hangUp();
    await gone("high", 0);
    expect(holds.slice(0, 2).map(({ active, word }) => [active, word])).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(roster.registered).toBe(0);
  });

  test("holds stay while another high client is active", async () => {
    const { gpu, highs, holds, gone } = await served(2, 1);
    for (const slot of [0, 1]) gpu.region.setActive(0, slot, true);
    if (holds[0]) holds[0].word = 1;
    highs[0]?.hangUp();
    await gone("high", 0);
    expect([holds[0]?.active, holds[0]?.word]).toEqual([0b10, 1]);
  });

  test("the turn of a dead best-effort client goes to the next one that waits", async () => {
    const { roster, gpu, clients, gone } = await served(1, 4);
    const slots = gpu.region.memory.bestEffort;
    for (const slot of [0, 1, 3]) if (slots[slot]) slots[slot].waiting = 1;
    await eventually(() => roster.waiting === 0b1011);
    clients[1]?.hangUp();
    await gone("best-effort", 1);
    // A native thread gives turns meanwhile.
    expect(roster.turn).not.toBe(1);
    await eventually(() => roster.waiting === 0b1001);
    expect(roster.bestEffort).toBe(0b1101);
  });

  test("the last slot's bit is cleared as well as the first's", async () => {
    const { gpu, highs, holds, roster, gone } = await served(constants.MAX_HIGH, 1);
    expect(highs.at(-1)?.welcome.slot).toBe(63);
    expect(roster.registered).toBe(64);
    gpu.region.setActive(0, 63, true);
    highs.at(-1)?.hangUp();
    await gone("high", 63);
    expect([holds[0]?.active, roster.registered]).toEqual([0, 63]);
  });
});

describe("healing", () => {
  async function pair() {
    const { path, registry } = await registryAtDoor();
    const train = await attach(path, { class: "best-effort", pid: 2 });
    await attach(path, { pid: 1 });
    const [page] = train.memory().holds;
    const region = registry.gpus[0]?.region;
    if (!page || !region) throw new Error("no page");
    return { registry, page, region };
  }

  test("noise in a control page is gone after two samples", async () => {
    const { registry, page, region } = await pair();
    for (let slot = 1; slot < constants.MAX_HIGH; slot++) region.setActive(0, slot, true);
    page.word = 0xdead;
    registry.heal();
    registry.heal();
    expect([page.active, page.word]).toEqual([0, 0]);
  });

  test("one bit of a slot that nobody has is cleared, and what it held is let go", async () => {
    const { registry, page, region } = await pair();
    region.setActive(0, 1, true);
    page.word = 1;
    registry.heal();
    expect([page.active, page.word]).toEqual([0, 0]);
  });

  test("a hold that nobody is there to lift is lifted on the second look at an idle GPU", async () => {
    const { registry, page } = await pair();
    page.word = 1;
    registry.heal();
    const atFirst = page.word;
    registry.heal();
    expect([atFirst, page.word]).toEqual([1, 0]);
  });

  test("a hold set by a burst that came between two samples stays", async () => {
    const { registry, page } = await pair();
    registry.heal();
    page.activations = 1;
    page.word = 1;
    registry.heal();
    expect(page.word).toBe(1);
  });
});
