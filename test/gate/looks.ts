// A helper thread's state machine, asked look by look; what it decides about the word and the turn is done at once.
import { HoldMachine, type HoldView, holdAction, openGate, turnAction } from "#gpu";
import { policyNamed } from "#policy";
import type { Rules } from "#protocol";

const START = 1e9;
export const ms = (count: number) => START + count * 1e6;
export const us = (count: number) => START + count * 1e3;

/** Client 0 has work, its turn and an open word; a high client is there and idle. */
export const running: HoldView = {
  nowNs: START,
  slot: 0,
  held: 0,
  launchesOut: 10,
  outNs: 1e6,
  stands: 0,
  callersWaiting: 0,
  far: 7,
  stopsInside: 0,
  trickledNs: Number.POSITIVE_INFINITY,
  waiting: 1,
  turn: 0,
  turnNs: 0,
  highRegistered: 1,
  highActive: 0,
  idleUs: Number.POSITIVE_INFINITY,
  activeUs: 0,
};
export const held: HoldView = { ...running, held: 1, highActive: 1 };
export const noWork = { launchesOut: 0, outNs: 0 };

const gate = openGate();

/** One that has not looked yet, under `strict` with these rules. What a look is not told is as it was. */
export function looks(view: HoldView, rules: Partial<Rules> = {}) {
  const isolated = rules.isolated !== 0;
  gate.setRules({ ...policyNamed("strict").rules({ isolated, high: [] }), ...rules });
  const machine = new HoldMachine(gate);
  const seen = { ...view };
  let trickledAt = Number.NEGATIVE_INFINITY;
  return (change: Partial<HoldView> = {}) => {
    Object.assign(seen, change);
    seen.trickledNs = seen.nowNs - trickledAt;
    machine.look(seen);
    if (machine.trickles) trickledAt = seen.nowNs;
    if (machine.turn === turnAction.give) seen.held = 1;
    if (machine.turn === turnAction.take) seen.turn = seen.slot;
    if (machine.turn === turnAction.give) seen.turn = machine.turnTo;
    const { open, chunk, leave } = holdAction;
    if (machine.hold !== leave)
      seen.held = [open, chunk].some((one) => one === machine.hold) ? 0 : 1;
    return machine;
  };
}
