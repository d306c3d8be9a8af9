// The helper thread's state machine (native/gate/hold.h), under the policy strict unless said otherwise. Minimum
// progress and renewals: hold-pauses.test.ts, hold-renewal.test.ts.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HoldMachine, type HoldView, openGate } from "#gpu";
import { constants, holdAction, nextLook, type Rules, ruleNames, turnAction } from "#protocol";
import { held, looks, ms, noWork, running } from "./looks.ts";

const { leave, open, close } = holdAction;

describe("the word is", () => {
  test.each([
    { name: "left open while nobody is active", view: running, action: leave, againUs: 1000 },
    {
      name: "closed for a request",
      view: { ...running, highActive: 1 },
      action: close,
      againUs: 50,
    },
    { name: "left closed for it", view: held, action: leave, againUs: 50 },
    {
      name: "left closed until the resume delay is over",
      view: { ...held, highActive: 0, idleUs: 149 },
      action: leave,
      againUs: 50,
    },
    {
      name: "opened then",
      view: { ...held, highActive: 0, idleUs: 150 },
      action: open,
      againUs: 1000,
    },
    {
      name: "opened where nobody is protected",
      view: { ...held, highRegistered: 0 },
      action: open,
      againUs: 10_000,
    },
    {
      name: "opened for a client without work",
      view: { ...held, ...noWork, highActive: 0 },
      action: open,
      againUs: 10_000,
    },
    {
      name: "looked at again soon where work stands still",
      view: { ...running, ...noWork, stands: 1 },
      action: leave,
      againUs: 1000,
    },
    {
      name: "closed during a request though nothing is out",
      view: { ...running, ...noWork, highActive: 1 },
      action: close,
      againUs: 10_000,
    },
    {
      name: "closed while the agent pauses",
      rules: { paused: 1 },
      view: running,
      action: close,
      againUs: 1000,
    },
    {
      name: "closed while the agent pauses, though nobody is there to be protected",
      rules: { paused: 1 },
      view: { ...running, highRegistered: 0 },
      action: close,
      againUs: 1000,
    },
    {
      name: "looked at less often where its opening needs no precision",
      rules: { resumeDelayUs: 0 },
      view: held,
      action: leave,
      againUs: 1000,
    },
  ])("$name", ({ view, rules, action, againUs }) => {
    const { hold, next, againNs } = looks(view, rules)();
    expect({ hold, next, againNs }).toEqual({
      hold: action,
      next: nextLook.nap,
      againNs: againUs * 1000,
    });
  });
});

test.each([
  { name: "a client with launches out", view: running, waiting: true },
  { name: "one with none", view: { ...running, ...noWork }, waiting: false },
  {
    name: "one whose program is blocked",
    view: { ...running, ...noWork, callersWaiting: 1 },
    waiting: true,
  },
  {
    name: "one whose streams all stand still",
    view: { ...running, ...noWork, stands: 1 },
    waiting: false,
  },
  {
    name: "one beside whom nobody is protected",
    view: { ...running, highRegistered: 0 },
    waiting: false,
  },
])("wants the GPU or not: $name", ({ view, waiting }) => {
  expect(looks(view)().waiting).toBe(waiting);
});

describe("of several clients", () => {
  const others = { waiting: 0b0010_1001 };
  const mine = { ...running, ...others, slot: 3, turn: 3 };
  const theirs = { ...running, ...others, slot: 3, turn: 5, held: 1 };
  const turnNs = 5e6;
  test.each([
    { name: "its turn is not over", view: { ...mine, turnNs }, turn: turnAction.keep, hold: leave },
    {
      name: "its turn is over",
      view: { ...mine, turnNs: turnNs + 1 },
      turn: turnAction.give,
      to: 5,
      hold: leave,
    },
    {
      name: "nobody else wants the GPU",
      view: { ...mine, waiting: 8, turnNs: 1e9 },
      turn: turnAction.keep,
      hold: leave,
    },
    {
      name: "it has no work",
      view: { ...mine, ...noWork, held: 1 },
      turn: turnAction.give,
      to: 5,
      hold: leave,
    },
    {
      name: "the next is counted in a circle",
      view: { ...mine, slot: 5, turn: 5, turnNs: turnNs + 1 },
      turn: turnAction.give,
      to: 0,
      hold: leave,
    },
    { name: "another has the turn", view: theirs, turn: turnAction.keep, hold: leave },
    {
      name: "another has the turn, and the word is open",
      view: { ...theirs, held: 0 },
      turn: turnAction.keep,
      hold: close,
    },
    {
      name: "the holder has no work any more",
      view: { ...theirs, turn: 4 },
      turn: turnAction.take,
      hold: open,
    },
    {
      name: "the holder is none that exists",
      view: { ...theirs, waiting: 0x129, turn: constants.MAX_BEST_EFFORT },
      turn: turnAction.take,
      hold: open,
    },
    {
      name: "the holder is late",
      view: { ...theirs, turnNs: turnNs + 100e6 },
      turn: turnAction.keep,
      hold: leave,
    },
    {
      name: "the holder is silent",
      view: { ...theirs, turnNs: turnNs + 100e6 + 1 },
      turn: turnAction.take,
      hold: open,
    },
    {
      name: "it has no use for a free turn",
      view: { ...theirs, ...noWork, turn: 4 },
      turn: turnAction.keep,
      hold: leave,
    },
    {
      name: "a turn that lasts no time is taken for the shortest that there is",
      rules: { quantumUs: 0 },
      view: { ...mine, turnNs: 500e3 },
      turn: turnAction.keep,
      hold: leave,
    },
    {
      name: "nobody has work",
      view: { ...theirs, ...noWork, waiting: 0 },
      turn: turnAction.keep,
      hold: open,
    },
    {
      name: "contexts run side by side, and the time of a turn is over",
      rules: { isolated: 0 },
      view: { ...mine, turnNs: turnNs + 1 },
      turn: turnAction.keep,
      hold: leave,
    },
    {
      name: "contexts run side by side",
      rules: { isolated: 0 },
      view: theirs,
      turn: turnAction.keep,
      hold: open,
    },
  ])("$name", ({ view, rules, turn, to = 0, hold }) => {
    const decided = looks(view, rules)();
    expect([decided.turn, decided.turnTo, decided.hold]).toEqual([turn, to, hold]);
  });

  test("a client without work does not open its word during another's turn", () => {
    expect(looks({ ...theirs, ...noWork })().hold).toBe(leave);
  });
});

describe("since the last poll, a client", () => {
  test.each([
    { name: "was held", view: held, times: [0, 0, 1e6, 0] },
    { name: "was paused", rules: { paused: 1 }, view: held, times: [0, 0, 1e6, 0] },
    {
      name: "waited for its turn",
      view: { ...running, waiting: 3, turn: 1, held: 1 },
      times: [0, 1e6, 0, 0],
    },
    { name: "had no work", view: { ...running, ...noWork }, times: [1e6, 0, 0, 0] },
    { name: "had none while it was held", view: { ...held, ...noWork }, times: [0, 0, 0, 0] },
    { name: "ran, with a chunk ahead", view: running, times: [0, 0, 0, 200e3] },
    { name: "ran, with less ahead", view: { ...running, outNs: 5e3 }, times: [0, 0, 0, 5e3] },
  ])("$name", ({ view, rules, times }) => {
    const look = looks(view, rules);
    const first = look();
    expect([first.emptyNs, first.turnNs, first.heldNs]).toEqual([0, 0, 0]);
    const { emptyNs, turnNs, heldNs, releasedNs } = look({ nowNs: ms(1) });
    expect([emptyNs, turnNs, heldNs, releasedNs]).toEqual(times);
  });

  test("may have been held by somebody absent: looked for every 250 ms of a pause", () => {
    const look = looks(held);
    const found = [0, 250, 251, 400, 501, 502, 753].map(
      (at) => look({ nowNs: ms(at) }).lookForAbsent,
    );
    expect(found).toEqual([false, false, true, false, false, true, true]);
  });
});

test("whatever is seen under whatever rules, the next poll is within 10 ms, and the turn goes to a client that exists", () => {
  const gate = openGate();
  const word = fc.oneof(fc.nat({ max: 8 }), fc.nat({ max: 0xffffffff }));
  const any = (names: readonly string[]) =>
    fc.record(Object.fromEntries(names.map((name) => [name, word])));
  const views = any(Object.keys(running)) as fc.Arbitrary<HoldView>;
  const rules = any(ruleNames) as fc.Arbitrary<Rules>;
  fc.assert(
    fc.property(rules, fc.array(views, { minLength: 1, maxLength: 20 }), (settings, seen) => {
      gate.setRules(settings);
      const machine = new HoldMachine(gate);
      let nowNs = 0;
      for (const view of seen) {
        nowNs += Number(view.nowNs);
        const slot = Number(view.slot) % constants.MAX_BEST_EFFORT;
        Object.assign(machine.view, view, { nowNs, slot });
        machine.look();
        const { againNs, turn, turnTo, waiting } = machine.decided;
        expect(againNs).toBeGreaterThan(0);
        expect(againNs).toBeLessThanOrEqual(10e6);
        expect(turnTo).toBeLessThan(constants.MAX_BEST_EFFORT);
        if (!waiting) expect(turn).not.toBe(turnAction.take);
      }
    }),
    { numRuns: 500 },
  );
});
