// Time slices that are renewed (docs/design/decisions/0007), as the helper thread's state machine has it (native/gate/hold.h).
import { describe, expect, test } from "vitest";
import type { HoldMachine, HoldView } from "#gpu";
import { holdAction, nextLook, submission } from "#protocol";
import { looks, noWork, running, type SomeRules, us } from "./looks.ts";

const { leave, open, chunk, stand } = holdAction;
const { nap, border, moment } = nextLook;
const RENEW_US = 1200;

const said = ({ hold, next, againNs }: HoldMachine["decided"]) => ({
  hold,
  next,
  us: againNs / 1000,
});

/** The word was last seen set at us(0), so the slice began then. */
function slice(rules: SomeRules = {}) {
  const look = looks({ ...running, held: 1 }, { renewUs: RENEW_US, ...rules });
  expect(look().hold).toBe(open);
  return look;
}

test("it is looked for when it is due, to the microsecond", () => {
  const look = slice();
  expect(said(look({ nowNs: us(300) }))).toEqual({ hold: leave, next: nap, us: 900 });
  expect(look({ nowNs: us(1150) }).againNs).toBe(50e3);
  expect(said(look({ nowNs: us(1199) }))).toEqual({ hold: leave, next: nap, us: 20 });
  expect(said(look({ nowNs: us(1200) }))).toEqual({ hold: stand, next: border, us: 150 });
});

test.each<{ name: string; rules?: SomeRules; view?: Partial<HoldView> }>([
  { name: "the rule is 0", rules: { renewUs: 0 } },
  { name: "contexts do not take turns", rules: { isolated: 0 } },
  { name: "work is not submitted ahead", rules: { submission: submission.launch } },
  { name: "what is out stops inside", view: { stopsInside: 1 } },
  { name: "nothing is out", view: noWork },
  { name: "a request has just ended", view: { idleUs: 1199 } },
  {
    name: "a request is there that does not hold yet",
    rules: { graceUs: 5000 },
    view: { highActive: 1, activeUs: 300 },
  },
])("it is not done if $name", ({ rules, view = {} }) => {
  expect(slice(rules)({ nowNs: us(1200), ...view }).hold).toBe(leave);
});

test("the slice begins when the word is opened after a pause", () => {
  const look = slice();
  look({ nowNs: us(500), highActive: 1 });
  look({ nowNs: us(900) });
  expect(look({ nowNs: us(1000), highActive: 0, idleUs: 150 }).hold).toBe(open);
  expect(look({ nowNs: us(2199), idleUs: 1349 }).hold).toBe(leave);
  expect(look({ nowNs: us(2200), idleUs: 1350 }).hold).toBe(stand);
});

test("it is not done in minimum progress", () => {
  const look = slice();
  look({ nowNs: us(100), highActive: 1 });
  look({ nowNs: us(200) });
  expect(look({ nowNs: us(250_200) }).hold).toBe(chunk);
  expect(look({ nowNs: us(252_200), highActive: 0, idleUs: 2000 }).hold).toBe(leave);
});

describe("once the word is set", () => {
  function renewing() {
    const look = slice();
    expect(look({ nowNs: us(1200) }).hold).toBe(stand);
    return look;
  }

  test("the GPU stands for 8 us at the next border, and the next slice is counted from its end", () => {
    const look = renewing();
    expect(said(look({ nowNs: us(1240), far: 8 }))).toEqual({
      hold: leave,
      next: moment,
      us: 8,
    });
    expect(said(look({ nowNs: us(1247) }))).toEqual({ hold: leave, next: moment, us: 1 });
    expect(said(look({ nowNs: us(1248) }))).toEqual({ hold: open, next: nap, us: 20 });
    expect(look({ nowNs: us(2447) }).hold).toBe(leave);
    expect(look({ nowNs: us(2448) }).hold).toBe(stand);
  });

  test("a border that is late is waited for on the CPU and off it by turns", () => {
    const look = renewing();
    expect(said(look({ nowNs: us(1350) }))).toEqual({ hold: leave, next: nap, us: 20 });
    expect(said(look({ nowNs: us(1370) }))).toEqual({ hold: leave, next: border, us: 150 });
    expect(said(look({ nowNs: us(1520) }))).toEqual({ hold: leave, next: nap, us: 20 });
    expect(said(look({ nowNs: us(1540), far: 8 }))).toEqual({
      hold: leave,
      next: moment,
      us: 8,
    });
  });

  test("no border is waited for longer than 2 ms", () => {
    const look = renewing();
    expect(look({ nowNs: us(3199) }).next).not.toBe(moment);
    expect(look({ nowNs: us(3200) }).next).toBe(moment);
    expect(look({ nowNs: us(3208) }).hold).toBe(open);
  });

  test("a request finds it set, and nothing opens it before the request is over", () => {
    const look = renewing();
    expect(said(look({ nowNs: us(1210), highActive: 1 }))).toEqual({
      hold: leave,
      next: nap,
      us: 50,
    });
    expect(look({ nowNs: us(1240), far: 8 }).hold).toBe(leave);
    expect(look({ nowNs: us(1300), highActive: 0, idleUs: 10 }).hold).toBe(leave);
    expect(look({ nowNs: us(1450), idleUs: 150 }).hold).toBe(open);
    const next = look({ nowNs: us(2650), idleUs: 1350 });
    expect(said(next)).toEqual({ hold: stand, next: border, us: 150 });
  });

  test("the end of the client's turn ends it", () => {
    const look = renewing();
    const given = look({ nowNs: us(1240), far: 8, waiting: 3, turnNs: 6e6 });
    expect([given.turnTo, given.next]).toEqual([1, nap]);
  });

  test("a launch that stops inside does not end it", () => {
    const look = renewing();
    look({ nowNs: us(1240), far: 8, stopsInside: 1 });
    expect(look({ nowNs: us(1248) }).hold).toBe(open);
  });
});
