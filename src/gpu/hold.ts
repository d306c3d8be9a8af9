// One helper thread of a best-effort client, as native/gate/hold.h has it: the state machine that the interposer runs,
// through the gate's library. What goes in, what comes out and what it remembers stand in one block, so a look allocates
// nothing.
import type { Gate } from "./gate.ts";

/** Offsets in the block of native/gate/exports.cpp, in doubles. */
const at = {
  nowNs: 0,
  slot: 1,
  held: 2,
  launchesOut: 3,
  outNs: 4,
  stands: 5,
  callersWaiting: 6,
  far: 7,
  stopsInside: 8,
  trickledNs: 9,
  waiting: 10,
  turn: 11,
  turnNs: 12,
  highRegistered: 13,
  highActive: 14,
  idleUs: 15,
} as const;
const DECISION = 16;
const STATE = 29;
const STATE_WORDS = 12;

export const turnAction = { keep: 0, give: 1, take: 2 } as const;
export const holdAction = { leave: 0, open: 1, close: 2, chunk: 3, stand: 4 } as const;
export const nextLook = { nap: 0, border: 1, moment: 2 } as const;

/** What is seen at a look; native/gate/hold.h says what each field means. Durations may be infinite. */
export type HoldView = Record<keyof typeof at, number>;

const fields = Object.entries(at) as readonly [keyof HoldView, number][];
/** Long after everything, and exact as a double. */
const LONG = 2 ** 52;

export class HoldMachine {
  readonly #gate: Gate;
  readonly #block = new Float64Array(STATE + STATE_WORDS);

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  /** The accessors below tell what was decided, until the next look. */
  look(view: HoldView): void {
    const block = this.#block;
    for (const [name, index] of fields) block[index] = Math.min(view[name], LONG);
    this.#gate.hold(block);
  }

  get turn(): number {
    return this.#decided(0);
  }

  get turnTo(): number {
    return this.#decided(1);
  }

  get hold(): number {
    return this.#decided(2);
  }

  get next(): number {
    return this.#decided(3);
  }

  get againNs(): number {
    return this.#decided(4);
  }

  get waiting(): boolean {
    return this.#decided(5) !== 0;
  }

  get trickles(): boolean {
    return this.#decided(6) !== 0;
  }

  get counts(): boolean {
    return this.#decided(7) !== 0;
  }

  get looksForAbsent(): boolean {
    return this.#decided(8) !== 0;
  }

  get emptyNs(): number {
    return this.#decided(9);
  }

  get turnNs(): number {
    return this.#decided(10);
  }

  get heldNs(): number {
    return this.#decided(11);
  }

  get releasedNs(): number {
    return this.#decided(12);
  }

  #decided(index: number): number {
    return this.#block[DECISION + index] as number;
  }
}
