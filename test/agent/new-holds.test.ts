import { describe, expect, onTestFinished, test } from "vitest";
import { MappedRange } from "#agent";
import { ms } from "#core";
import { constants, messageMagic, welcomeStatus } from "#protocol";
import { attach, dial, eventually, helloBytes, listenTo, newHold } from "./fakes.ts";
import { regionBy } from "./region.ts";

import { registryAtDoor } from "./registry-at-door.ts";

const soon = () => new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 20));

describe("a best-effort client that comes while high clients are there", () => {
  test("is let in once they have mapped its control page", async () => {
    const { path, registry, clock } = await registryAtDoor();
    const high = await dial(path, helloBytes({ pid: 1 }));
    onTestFinished(() => void high.destroy());
    const { welcome, files } = await listenTo(high, "and goes on listening");
    expect(welcome.holds).toBe(0);
    let isIn = false;
    const coming = attach(path, { class: "best-effort", pid: 2 }).finally(() => {
      isIn = true;
    });
    const { message, page } = await newHold(high);
    expect(message).toMatchObject({ magic: messageMagic, slot: 0 });
    const range = new MappedRange(4096);
    range.put(page, 0, 4096);
    clock.advance(ms(5));
    await soon();
    expect(isIn).toBe(false);
    const { roster, high: slots } = regionBy(welcome, "high", files);
    if (!slots[0]) throw new Error("no slot");
    slots[0].holdsVersion = roster.holdsVersion;
    clock.advance(ms(1));
    const { memory } = await coming;
    // It is the page that it has.
    const [own] = memory().holds;
    new Uint32Array(range.buffer)[0] = 1;
    expect([own?.word, registry.gpus[0]?.region.memory.holds[0]?.word]).toEqual([1, 1]);
  });

  test("is let in after a quarter of a second if one of them is stopped", async () => {
    const { path, clock, logged } = await registryAtDoor();
    await attach(path, { pid: 1, name: "serve", confirms: false });
    let isIn = false;
    const coming = attach(path, { class: "best-effort", pid: 2 }).finally(() => {
      isIn = true;
    });
    // When it begins to wait is not known here.
    await eventually(() => {
      clock.advance(ms(50));
      return isIn;
    });
    expect((await coming).welcome.status).toBe(welcomeStatus.ok);
    const because = "the high client serve (pid 1) does not answer";
    expect(logged).toContainEqual(["not held yet", expect.objectContaining({ pid: 2, because })]);
  });

  test("is let in beside one that never reads, which keeps few control pages from being forgotten", async () => {
    const { path, registry } = await registryAtDoor();
    const high = await dial(path, helloBytes({ pid: 1 }));
    onTestFinished(() => void high.destroy());
    const { welcome, files } = await listenTo(high, "and goes on listening");
    const [own] = regionBy(welcome, "high", files).high;
    if (own) own.holdsVersion = 2 ** 32 - 1; // it says that it has mapped them all
    for (let i = 0; i < 100; i++) {
      const client = await attach(path, { class: "best-effort", pid: 2 });
      expect(client.welcome.status).toBe(welcomeStatus.ok);
      client.hangUp();
    }
    await eventually(() => registry.gpus.length === 0); // the connection of the high one is closed
    let unread = 0;
    while ((await newHold(high)).page !== -1) unread++;
    expect(unread).toBeGreaterThanOrEqual(constants.MAX_BEST_EFFORT);
    expect(unread).toBeLessThan(64);
  });

  test("and ends before it is let in leaves its slot", async () => {
    const { path, registry } = await registryAtDoor();
    await attach(path, { pid: 1, confirms: false });
    const socket = await dial(path, helloBytes({ class: "best-effort", pid: 2 }));
    await eventually(() => registry.gpus[0]?.clients.length === 2);
    socket.destroy();
    await eventually(() => registry.gpus[0]?.clients.length === 1);
  });
});
