// A program while it is compiled: what the sites of its instructions share.
import type { Func, Instruction, Label, Module, Scope } from "#ptx";
import type { Placement } from "../instructions/layout.ts";
import type { Filled, Routine } from "../instructions/site.ts";
import type { Reduction } from "../machine/block.ts";
import type { Location } from "../machine/errors.ts";
import type { Slots } from "./slots.ts";

/** A slot for the address of a variable in global or constant memory, which a launch decides. */
export interface FilledByVariable extends Filled {
  readonly variable: string;
  readonly offset: number;
}

/** A slot for a special register. */
export interface FilledBySpecial extends Filled {
  readonly name: string;
}

/** An instruction with where it stands. */
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
  /** The instruction behind a label. */
  readonly targets: ReadonlyMap<Label, number>;
  /** What stands in the list of targets behind a label. */
  readonly lists: ReadonlyMap<Label, readonly string[]>;
  readonly addresses: FilledByVariable[];
  readonly specials: Map<string, FilledBySpecial>;
  readonly reductions: (Reduction | undefined)[];
  /** The function's routine; its instructions follow, if it is met for the first time. */
  routine(func: Func): Routine;
  /** The routine of a function that has been met. */
  known(func: Func): Routine | undefined;
  locationOf(one: Compiled): Location;
}
