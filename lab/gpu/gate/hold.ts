// The helper thread's state machine of one best-effort client: the code of native/gate/hold.h that the interposer
// runs too, called in the gate's library. Its input, output and state are in one block of memory, so a look allocates
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
  activeUs: 16,
} as const;
const DECISION = 17;
const STATE = 30;
const STATE_WORDS = 12;

export const turnAction = { keep: 0, give: 1, take: 2 } as const;
export const holdAction = { leave: 0, open: 1, close: 2, chunk: 3, stand: 4 } as const;
export const nextLook = { nap: 0, border: 1, moment: 2 } as const;

/** The input of one step of the helper thread. native/gate/hold.h defines each field. Durations may be infinite. */
export type HoldView = Record<keyof typeof at, number>;

const fields = Object.entries(at) as readonly [keyof HoldView, number][];
/** Later than any time here, and exact as a double. */
const LONG = 2 ** 52;

export class HoldMachine {
  readonly #gate: Gate;
  readonly #block = new Float64Array(STATE + STATE_WORDS);

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  /** Decides. The accessors below return the decision until the next look. */
  look(view: HoldView): void {
    const block = this.#block;
    for (const [name, index] of fields) block[index] = Math.min(view[name], LONG);
    this.#gate.hold(block);
  }

  get turn(): number {
    return this.#decision(0);
  }

  get turnTo(): number {
    return this.#decision(1);
  }

  get hold(): number {
    return this.#decision(2);
  }

  get next(): number {
    return this.#decision(3);
  }

  get againNs(): number {
    return this.#decision(4);
  }

  get waiting(): boolean {
    return this.#decision(5) !== 0;
  }

  get trickles(): boolean {
    return this.#decision(6) !== 0;
  }

  get counts(): boolean {
    return this.#decision(7) !== 0;
  }

  get looksForAbsent(): boolean {
    return this.#decision(8) !== 0;
  }

  get emptyNs(): number {
    return this.#decision(9);
  }

  get turnNs(): number {
    return this.#decision(10);
  }

  get heldNs(): number {
    return this.#decision(11);
  }

  get releasedNs(): number {
    return this.#decision(12);
  }

  #decision(index: number): number {
    return this.#block[DECISION + index] as number;
  }
}
