// Long pauses of best-effort work, as the helper thread's state machine has them (native/gate/hold.h).
import { describe, expect, test } from "vitest";
import { holdAction } from "#protocol";
import { held, looks, ms, noWork, type SomeRules, us } from "./looks.ts";

const { leave, close, chunk } = holdAction;

describe("minimum progress", () => {
  /** Held for 250 ms, when it begins. */
  const begun = (rules: SomeRules = {}, view = held) => {
    const look = looks(view, rules);
    look();
    const decided = look({ nowNs: ms(250) });
    expect([decided.hold, decided.progresses, decided.counts]).toEqual([chunk, true, true]);
    expect(decided.againNs).toBe(100e3);
    return look;
  };

  test("begins when the pause has lasted 250 ms, and not before", () => {
    const look = looks(held);
    look();
    expect(look({ nowNs: ms(249.999) }).hold).toBe(leave);
    expect(look({ nowNs: ms(250) }).hold).toBe(chunk);
  });

  test("ends when a border is passed", () => {
    const look = begun();
    const still = look({ nowNs: ms(250.1) });
    expect([still.hold, still.againNs]).toEqual([leave, 100e3]);
    expect(look({ nowNs: ms(250.2), far: 8 }).hold).toBe(close);
  });

  test("follows the one before after 10 ms, though the GPU came farther in it", () => {
    const look = begun();
    look({ nowNs: ms(250.1), far: 10 });
    expect(look({ nowNs: ms(259.999) }).hold).toBe(leave);
    expect(look({ nowNs: ms(260) }).hold).toBe(chunk);
  });

  test.each([
    { isolated: 1, limitUs: 5000 },
    { isolated: 0, limitUs: 1000 },
  ])("ends without a border after $limitUs us (isolated: $isolated)", ({ isolated, limitUs }) => {
    const look = begun({ isolated });
    expect(look({ nowNs: us(250_000 + limitUs - 1) }).hold).toBe(leave);
    expect(look({ nowNs: us(250_000 + limitUs) }).hold).toBe(close);
  });

  test("leaves the word open if nothing holds any more", () => {
    const look = begun();
    expect(look({ nowNs: ms(250.1), highActive: 0, far: 8 }).hold).toBe(leave);
    expect(look({ nowNs: ms(250.2) }).againNs).toBe(1e6);
  });

  test("follows the ones before in the same pause, however many there were", () => {
    const look = begun();
    for (let far = 8, at = 250; at < 300; far++, at += 10) {
      look({ nowNs: ms(at + 0.1), far });
      expect(look({ nowNs: ms(at + 10) }).hold).toBe(chunk);
    }
  });

  test("does not end a pause in which as much had slipped through as is tolerated", () => {
    const look = looks(held);
    look();
    for (const at of [1, 2]) look({ nowNs: ms(at), far: 100 * at });
    expect(look({ nowNs: ms(250) }).hold).toBe(chunk);
    look({ nowNs: ms(250.1), far: 201 });
    expect(look({ nowNs: ms(260) }).hold).toBe(chunk);
  });

  test("comes for work that stands still, too, and for nobody without any", () => {
    begun({}, { ...held, ...noWork, stands: 1 });
    const look = looks({ ...held, ...noWork });
    look();
    expect(look({ nowNs: ms(300) }).hold).toBe(leave);
  });

  test("is counted from when there is work to hold", () => {
    const look = looks({ ...held, ...noWork });
    look();
    look({ nowNs: ms(200), launchesOut: 1 });
    expect(look({ nowNs: ms(449.999) }).hold).toBe(leave);
    expect(look({ nowNs: ms(450) }).hold).toBe(chunk);
  });

  test.each([
    { count: 2, beginsMs: 250 },
    { count: 3, beginsMs: 253 },
  ])("comes after $beginsMs ms if the GPU came farther at $count looks of the pause", (given) => {
    const look = looks(held);
    look();
    for (let i = 1; i <= given.count; i++) look({ nowNs: ms(i), far: i * 100 });
    expect(look({ nowNs: ms(given.beginsMs - 0.001) }).hold).toBe(leave);
    expect(look({ nowNs: ms(given.beginsMs) }).hold).toBe(chunk);
  });

  test("is counted from the last poll that found the word open", () => {
    const look = looks(held);
    look();
    look({ nowNs: ms(200), held: 0, highActive: 0 });
    look({ nowNs: ms(201), held: 1, highActive: 1 });
    expect(look({ nowNs: ms(450.999) }).hold).toBe(leave);
    expect(look({ nowNs: ms(451) }).hold).toBe(chunk);
  });
});

describe("chunks concurrent with requests", () => {
  test("pass in their time, are watched closely and are no minimum progress of a long pause", () => {
    const look = looks(held, { isolated: 0, coRunEveryUs: 800 });
    look();
    expect(look({ nowNs: us(799) }).hold).toBe(leave);
    const decided = look({ nowNs: us(800) });
    expect([decided.hold, decided.progresses, decided.counts]).toEqual([chunk, true, false]);
    expect(decided.againNs).toBe(20e3);
    const over = look({ nowNs: us(820), far: 8 });
    expect([over.hold, over.againNs]).toEqual([close, 20e3]);
    expect(look({ nowNs: us(1599) }).hold).toBe(leave);
    expect(look({ nowNs: us(1600) }).hold).toBe(chunk);
  });

  test.each([
    [100, 50e3],
    [60, 30e3],
    [800, 50e3],
  ])("are looked for as often as they pass: every %i us", (coRunEveryUs, againNs) => {
    expect(looks(held, { isolated: 0, coRunEveryUs })().againNs).toBe(againNs);
  });

  test("have more time to end where contexts take turns: 5 ms", () => {
    const look = looks(held, { coRunEveryUs: 8000 });
    look();
    expect(look({ nowNs: ms(8) }).hold).toBe(chunk);
    expect(look({ nowNs: ms(12.9) }).hold).toBe(leave);
    expect(look({ nowNs: ms(13) }).hold).toBe(close);
  });
});
