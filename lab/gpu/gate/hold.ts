// The helper thread's state machine of one best-effort client: the code of native/gate/hold.h that the interposer
// runs too, called in the gate's library. Its input, output and state are in one block of memory, so a poll allocates
// nothing.
import {
  type BlockInput,
  type BlockOutput,
  blockInput,
  blockOutput,
  LOOK_STATE,
  lengthOf,
  lookInput,
  lookOutput,
} from "#protocol";
import type { Gate } from "./gate.ts";

const DECISION = lengthOf(lookInput);
const STATE = DECISION + lengthOf(lookOutput);

/** The input of a poll of the helper thread. src/protocol/gate.ts describes each field. Durations may be infinite. */
export type HoldView = BlockInput<typeof lookInput>;

export class HoldMachine {
  readonly #gate: Gate;
  readonly #block = new Float64Array(STATE + LOOK_STATE);
  /** Filled before each poll. */
  readonly view: HoldView = blockInput(lookInput, this.#block);
  /** The decisions of the last poll. */
  readonly decided: BlockOutput<typeof lookOutput> = blockOutput(
    lookOutput,
    this.#block.subarray(DECISION),
  );

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  look(): void {
    this.#gate.hold(this.#block);
  }
}
