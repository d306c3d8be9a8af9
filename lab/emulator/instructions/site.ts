// The compilation of one instruction. Its operands become slots. A slot is the index of a value in a warp's register
// words; lane l of a value of w words is at slot + l * w. Immediates, addresses of variables and most special registers
// have slots too, which are filled before the block starts, so that all operands are read in the same way.
import type { Func, Instruction, Memory, Operand } from "#ptx";
import type { Reduction } from "../machine/block.ts";
import type { Control, Step } from "../machine/warp.ts";
import type { Placement } from "./layout.ts";

export type Slot = number;

/** A compiled instruction: a step, or a control instruction with the step of its warp-wide operation. */
export type Meaning = Step | { readonly control: Control; readonly meeting?: Step };

export type Compile = (site: Site) => Meaning;

/** A compiled address operand: a slot plus a constant. */
export interface Address {
  readonly space: string;
  readonly slot: Slot;
  readonly words: number;
  readonly offset: number;
}

/** A slot and the number of words for each lane. */
export interface Filled {
  readonly slot: Slot;
  readonly words: number;
}

/** A compiled function. `entry` is its first instruction. */
export interface Routine {
  readonly func: Func;
  entry: number;
  /** Offsets in the frame of parameters, results and local variables. */
  readonly frame: Placement;
  /** The slots of its registers. */
  slots: readonly Filled[];
  /** Whether it calls itself, directly or through other functions. */
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
  /** The type at `index` among the types; fails if there is none. */
  type(index?: number): string;
  operand(index: number): Operand;
  /** The slot of a source operand. */
  read(operand: Operand, type: string): Slot;
  /** The slot of a destination operand; for the sink "_" one that is never read. */
  write(operand: Operand, type: string): Slot;
  /** The size in bits of a register operand; of an immediate that of `type`. */
  bits(operand: Operand, type: string): number;
  /** An address in the space; "" is generic. */
  address(operand: Memory, space: string): Address;
  /** A new slot. */
  temporary(words: number): Slot;
  /** Runs before (or after) the instruction, for the same lanes. */
  before(step: Step): void;
  after(step: Step): void;
  /** The index of the instruction in the program. */
  readonly pc: number;
  /** The slot of the carry flag (add.cc and others), one word for each lane. */
  readonly carry: Slot;
  /** The function that contains the instruction. */
  readonly routine: Routine;
  /** The index of the instruction behind a label. */
  target(label: string): number;
  /** The instructions behind the labels of a `.branchtargets`. */
  targetsIn(list: string): readonly number[];
  /** undefined for a function without a body. */
  callee(name: string): Routine | undefined;
  /** The function whose address has this lower word. */
  routineAt(low: number): Routine | undefined;
  /** Adds all functions to the program, because an indirect call may reach any. */
  everyFunction(): void;
  /** The offset of a parameter or local variable in the function's frame. */
  frameOffset(name: string): { readonly offset: number; readonly bytes: number };
  reduces(reduction: Reduction): void;
  /** Ends the compilation with an error; its message contains the reason. */
  fail(why: string): never;
}
