// One instruction while it is compiled: its operands become slots. A slot is where a value begins in a warp's
// register words; lane l of a value of w words is at slot + l * w. Immediates, addresses of variables and most
// special registers are slots too, filled before the block starts, so that every operand is read the same way.
import type { Func, Instruction, Memory, Operand } from "#ptx";
import type { Reduction } from "../machine/block.ts";
import type { Control, Step } from "../machine/warp.ts";
import type { Placement } from "./layout.ts";

export type Slot = number;

/** An instruction's meaning: a step, or what decides where lanes go on. */
export type Meaning = Step | { readonly control: Control; readonly meeting?: Step };

export type Compile = (site: Site) => Meaning;

/** Where an address operand points: register words plus a constant. */
export interface Address {
  readonly space: string;
  readonly slot: Slot;
  readonly words: number;
  readonly offset: number;
}

/** A slot and its words a lane. */
export interface Filled {
  readonly slot: Slot;
  readonly words: number;
}

/** A function's place in the program. */
export interface Routine {
  readonly func: Func;
  entry: number;
  /** Offsets in the frame of parameters, results and local variables. */
  readonly frame: Placement;
  /** Its registers. */
  slots: readonly Filled[];
  /** Does it call itself, through whatever others? */
  recursive: boolean;
}

export interface Site {
  readonly instruction: Instruction;
  readonly operands: readonly Operand[];
  /** Modifiers that are types, in order. */
  readonly types: readonly string[];
  has(modifier: string): boolean;
  /** The first of `choices` among the modifiers. */
  one<T extends string>(choices: readonly T[]): T | undefined;
  /** The type at `index` among the types; says so when there is none. */
  type(index?: number): string;
  operand(index: number): Operand;
  /** A source of the type. */
  read(operand: Operand, type: string): Slot;
  /** A destination of the type; a sink gets a slot that nobody reads. */
  write(operand: Operand, type: string): Slot;
  /** Bits of the register that an operand names; of an immediate those of `type`. */
  bits(operand: Operand, type: string): number;
  /** An address in the space; "" is generic. */
  address(operand: Memory, space: string): Address;
  /** A slot of its own. */
  temporary(words: number): Slot;
  /** Runs before (or after) the instruction, for the same lanes. */
  before(step: Step): void;
  after(step: Step): void;
  /** The instruction's number, where it stands in the program. */
  readonly pc: number;
  /** Carry flag of add.cc and its like, one word a lane. */
  readonly carry: Slot;
  /** The function that the instruction is in. */
  readonly routine: Routine;
  /** The instruction behind a label. */
  target(label: string): number;
  /** The instructions behind the labels of a `.branchtargets`. */
  targetsIn(list: string): readonly number[];
  /** undefined for a function without a body. */
  callee(name: string): Routine | undefined;
  /** The function whose address has this lower word. */
  routineAt(low: number): Routine | undefined;
  /** Any function may be called: all belong to the program. */
  everyFunction(): void;
  /** Where a parameter or local variable of the function lies in its frame. */
  frameOffset(name: string): { readonly offset: number; readonly bytes: number };
  reduces(reduction: Reduction): void;
  /** Stops the compilation: the reason ends up in the message. */
  fail(why: string): never;
}
