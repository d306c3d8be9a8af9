// The state of the compilation of a program, shared by the sites of its instructions.
import type { Func, Instruction, Label, Module, Scope } from "#ptx";
import type { Placement } from "../instructions/layout.ts";
import type { Filled, Routine } from "../instructions/site.ts";
import type { Reduction } from "../machine/block.ts";
import type { Location } from "../machine/errors.ts";
import type { Slots } from "./slots.ts";

/** A slot for the address of a variable in global or constant memory, which is known at launch. */
export interface FilledByVariable extends Filled {
  readonly variable: string;
  readonly offset: number;
}

/** A slot for a special register. */
export interface FilledBySpecial extends Filled {
  readonly name: string;
}

/** An instruction with its scope and function. */
export interface Compiled {
  readonly instruction: Instruction;
  readonly scope: Scope;
  readonly routine: Routine;
}

export interface Compilation {
  readonly module: Module;
  readonly kernel: Func;
  readonly slots: Slots;
  readonly shared: Placement;
  readonly params: Placement;
  /** The index of the instruction behind a label. */
  readonly targets: ReadonlyMap<Label, number>;
  /** The names in the `.branchtargets` behind a label. */
  readonly lists: ReadonlyMap<Label, readonly string[]>;
  readonly addresses: FilledByVariable[];
  readonly specials: Map<string, FilledBySpecial>;
  readonly reductions: (Reduction | undefined)[];
  /** The compiled function; on the first call it is queued for compilation. */
  routine(func: Func): Routine;
  /** The compiled function, if `routine` was called for it. */
  known(func: Func): Routine | undefined;
  locationOf(one: Compiled): Location;
}
