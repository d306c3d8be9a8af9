// A helper thread's state machine, asked look by look; what it decides about the word and the turn is done at once.
import { HoldMachine, type HoldView, openGate } from "#gpu";
import { policyNamed } from "#policy";
import { gateView, holdAction, type RuleName, type Rules, turnAction } from "#protocol";

const START = 1e9;
export const ms = (count: number) => START + count * 1e6;
export const us = (count: number) => START + count * 1e3;

export type SomeRules = Partial<Record<RuleName, number>>;

const zeros = <F extends object>(fields: F) =>
  Object.fromEntries(Object.keys(fields).map((name) => [name, 0])) as Record<keyof F, number>;

/** Client 0 has work, its turn and an open word; a high client is there and idle. */
export const running: HoldView = {
  ...zeros(gateView),
  nowNs: START,
  slot: 0,
  held: 0,
  launchesOut: 10,
  outNs: 1e6,
  stands: 0,
  callersWaiting: 0,
  far: 7,
  stopsInside: 0,
  progressedNs: Number.POSITIVE_INFINITY,
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

/** One that has not looked yet, under `strict` with these rules. What a poll is not told is as it was. */
export function looks(view: HoldView, rules: SomeRules = {}) {
  const isolated = rules.isolated !== 0;
  gate.setRules({ ...policyNamed("strict").rules({ isolated, high: [] }), ...rules } as Rules);
  const machine = new HoldMachine(gate);
  const seen = { ...view };
  let progressedAt = Number.NEGATIVE_INFINITY;
  return (change: Partial<HoldView> = {}) => {
    Object.assign(seen, change);
    const nowNs = Number(seen.nowNs);
    seen.progressedNs = nowNs - progressedAt;
    Object.assign(machine.view, seen);
    machine.look();
    const { decided } = machine;
    if (decided.progresses) progressedAt = nowNs;
    if (decided.turn === turnAction.give) seen.held = 1;
    if (decided.turn === turnAction.take) seen.turn = seen.slot;
    if (decided.turn === turnAction.give) seen.turn = decided.turnTo;
    const { open, chunk, leave } = holdAction;
    if (decided.hold !== leave)
      seen.held = [open, chunk].some((one) => one === decided.hold) ? 0 : 1;
    return decided;
  };
}
