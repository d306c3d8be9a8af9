// Turns among best-effort clients, as the agent's thread gives them.

import koffi from "koffi";
import { expect, test } from "vitest";
import { MappedRange } from "#agent";
import { nanos } from "#core";
import { constants, Region, usualRules, view } from "#protocol";
import { native } from "../native.ts";

const giveTurns = koffi
  .load(`${native}/libcotenant-gate.so`)
  .func("void cotenant_give_turns(uint64_t region, double now)");

const TURN = 5e6; // ns

/** Best-effort clients in the first slots. */
function gpu(clients: number) {
  // Native code may rely on its alignment to pages.
  const { address, buffer } = new MappedRange(Region.size);
  const { roster, settings, holds, bestEffort } = view(Region, buffer);
  Object.assign(settings, usualRules);
  settings.quantumUs = TURN / 1e3;
  roster.bestEffort = 2 ** clients - 1;
  let now = 1e12;
  roster.turnSince = nanos(now);
  for (const page of holds.slice(1, clients)) page.word = 1;
  return {
    roster,
    settings,
    holds,
    /** These slots have work from now on, and no others. */
    wait: (...slots: readonly number[]) => {
      for (const [slot, one] of bestEffort.entries()) one.waiting = slots.includes(slot) ? 1 : 0;
    },
    /** The state after `ns`: the slot whose turn it is, and the pause flags of the clients. */
    look: (ns = 1e6) => {
      now += ns;
      giveTurns(address, now);
      return [roster.turn, holds.slice(0, clients).map(({ word }) => word)] as const;
    },
    now: () => now,
  };
}

test("who waits is told to all, with the time of the poll", () => {
  const { roster, wait, look, now } = gpu(3);
  wait(0, 2);
  look();
  expect(roster).toMatchObject({ waiting: 0b101, lookedAt: now() });
});

test("a turn lasts as the rule says, then the next one that waits has it, going round", () => {
  const { wait, look } = gpu(4);
  wait(0, 2, 3);
  expect(look(TURN)[0]).toBe(0);
  expect(look()).toEqual([2, [1, 1, 0, 1]]);
  expect(look(TURN)[0]).toBe(2);
  expect(look()).toEqual([3, [1, 1, 1, 0]]);
  expect(look(TURN + 1)).toEqual([0, [0, 1, 1, 1]]);
});

test("a client with a share of 3 has turns three times as long, and no share is no end of a turn", () => {
  const { roster, wait, look } = gpu(2);
  wait(0, 1);
  roster.shares.set(0, 3);
  expect(look(3 * TURN)[0]).toBe(0);
  expect(look()[0]).toBe(1);
  expect(look(TURN)[0]).toBe(1);
  expect(look()[0]).toBe(0);
  roster.shares.set(0, 2 ** 32 - 1);
  expect(look(constants.MAX_SHARE * TURN + 2)[0]).toBe(1);
});

test("who has nothing to run gives its turn away at the next poll", () => {
  const { wait, look } = gpu(2);
  wait(1);
  expect(look()).toEqual([1, [1, 0]]);
});

test("who is alone keeps its turn, however long", () => {
  const { wait, look } = gpu(3);
  wait(0);
  expect(look(100 * TURN)).toEqual([0, [0, 1, 1]]);
});

test("nobody's work runs in a request: the next one's hold stays closed", () => {
  const { holds, wait, look } = gpu(2);
  wait(0, 1);
  if (holds[1]) holds[1].active = 1;
  expect(look(TURN + 1)).toEqual([1, [1, 1]]);
});

test("where contexts run side by side there are no turns", () => {
  const { settings, wait, look } = gpu(2);
  settings.isolated = 0;
  wait(0, 1);
  expect(look(10 * TURN)[0]).toBe(0);
});

test.each([constants.MAX_BEST_EFFORT, 2 ** 31, 2 ** 32 - 1])(
  "a turn of slot %i, which there is not, goes to one that waits",
  (turn) => {
    const { roster, wait, look } = gpu(2);
    roster.turn = turn;
    wait(1);
    expect(look()[0]).toBe(1);
  },
);

test("what a slot that nobody has says is not heard", () => {
  const { roster, wait, look } = gpu(2);
  wait(0, 5);
  expect(look(10 * TURN)[0]).toBe(0);
  expect(roster.waiting).toBe(1);
});
