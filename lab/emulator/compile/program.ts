// A kernel and the functions that it calls as one list of instructions, each compiled to a closure. Values that depend
// on a launch (addresses of variables, the grid, parameters) are filled in by the launch (`loading.ts`).

import {
  blockScope,
  branchTargets,
  type Func,
  findFunction,
  functionScope,
  type Instruction,
  type Label,
  type Module,
  moduleScope,
  type Scope,
  type Statement,
  type Variable,
} from "#ptx";
import { type Placement, placeVariables } from "../instructions/layout.ts";
import type { Routine } from "../instructions/site.ts";
import type { Reduction } from "../machine/block.ts";
import { atLocation, KernelError, type Location, noKernel } from "../machine/errors.ts";
import type { Code, Control, Step, Warp } from "../machine/warp.ts";
import { LANES } from "../machine/warp-state.ts";
import type { Compilation, Compiled, FilledBySpecial, FilledByVariable } from "./compilation.ts";
import { guardMeaning } from "./guards.ts";
import { markRecursion } from "./recursion.ts";
import { makeSite } from "./site-builder.ts";
import { makeSlots } from "./slots.ts";
import { meaningOf } from "./table.ts";

export interface Program extends Code {
  readonly kernel: Func;
  readonly addresses: readonly FilledByVariable[];
  readonly specials: readonly FilledBySpecial[];
  readonly params: Placement;
  readonly shared: Placement;
  /** Bytes of the kernel's own frame. */
  readonly frameBytes: number;
}

export function compile(module: Module, kernelName: string): Program {
  const outer = moduleScope(module);
  const kernel = findFunction(outer, kernelName);
  if (kernel?.body === undefined || !kernel.entry) throw noKernel(kernelName, kernelNames(module));

  const shared = placeVariables([]);
  const routines: Routine[] = [];
  const routineOf = new Map<Func, Routine>();
  const code: Compiled[] = [];
  const targets = new Map<Label, number>();
  const lists = new Map<Label, readonly string[]>();
  const slots = makeSlots();
  const addresses: FilledByVariable[] = [];
  const specials = new Map<string, FilledBySpecial>();

  // All variables are placed first, because arrays of open length begin behind them.
  for (const item of module.items) {
    if (item.kind === "variable" && item.space === "shared") shared.add(item);
    if (item.kind === "function" && (item === kernel || !item.entry))
      for (const one of variablesIn(item.body ?? [])) if (one.space === "shared") shared.add(one);
  }

  /** Appends the instructions of a function. */
  function addRoutine(func: Func): Routine {
    const known = routineOf.get(func);
    if (known !== undefined) return known;
    const frame = placeVariables(func.entry ? [] : [...func.returns, ...func.params]);
    const routine: Routine = {
      func,
      entry: code.length,
      frame,
      slots: [],
      recursive: false,
    };
    routineOf.set(func, routine);
    routines.push(routine);
    return routine;
  }

  function flatten(body: readonly Statement[], scope: Scope, routine: Routine): void {
    let label: Label | undefined;
    for (const one of body) {
      if (one.kind === "verbatim" && label !== undefined && one.word === ".branchtargets")
        lists.set(label, branchTargets(one.text));
      label = one.kind === "label" ? one : undefined;
      if (one.kind === "instruction") code.push({ instruction: one, scope, routine });
      else if (one.kind === "label") targets.set(one, code.length);
      else if (one.kind === "block") flatten(one.body, blockScope(one.body, scope), routine);
      else if (one.kind === "variable") {
        if (one.space === "local" || one.space === "param") routine.frame.add(one);
      }
    }
  }

  function place({ instruction, routine }: Compiled): Location {
    const { source } = module;
    const own = instruction.at >= 0;
    const line = own ? source.slice(0, instruction.at).split("\n").length : 0;
    const text = own
      ? source.slice(instruction.at, instruction.end).replace(/\s+/g, " ")
      : instruction.operation.text;
    return { func: routine.func.name, line, text };
  }

  const steps: (Step | undefined)[] = [];
  const controls: (Control | undefined)[] = [];
  const meetings: (Step | undefined)[] = [];
  const reductions: (Reduction | undefined)[] = [];

  const queue: Routine[] = [];
  /** A function that is met while its caller is compiled. Its instructions are appended later. */
  function addRoutineLater(func: Func): Routine {
    const known = routineOf.get(func);
    if (known !== undefined) return known;
    const routine = addRoutine(func);
    queue.push(routine);
    return routine;
  }

  const params = placeVariables(kernel.params);
  const compilation: Compilation = {
    module,
    kernel,
    slots,
    shared,
    params,
    targets,
    lists,
    addresses,
    specials,
    reductions,
    routine: addRoutineLater,
    known: (func) => routineOf.get(func),
    locationOf: place,
  };

  queue.push(addRoutine(kernel));
  for (let routine = queue.shift(); routine !== undefined; routine = queue.shift()) {
    const { func } = routine;
    if (func.body === undefined) continue;
    routine.entry = code.length;
    routine.slots = slots.collect();
    flatten(func.body, functionScope(func, outer), routine);
    // A function returns after its last instruction.
    code.push({ instruction: finalReturn, scope: outer, routine });
    for (let pc = routine.entry; pc < code.length; pc++) {
      const one = code[pc] as Compiled;
      const first: Step[] = [];
      const last: Step[] = [];
      const site = makeSite(compilation, pc, one, first, last);
      const meaning = guardMeaning(meaningOf(site), site, first, last);
      if (typeof meaning === "function") steps[pc] = meaning;
      else {
        controls[pc] = meaning.control;
        meetings[pc] = meaning.meeting;
      }
    }
  }
  markRecursion(routines, code, outer);

  const ends = new Int32Array(code.length);
  for (let pc = code.length - 1, end = pc; pc >= 0; pc--) {
    if (controls[pc] !== undefined) end = pc;
    ends[pc] = end;
  }

  const locationOf = (pc: number): Location => place(code[pc] as Compiled);
  return {
    kernel,
    entry: (routineOf.get(kernel) as Routine).entry,
    steps,
    controls,
    meetings,
    reductions,
    ends,
    template: slots.template(),
    addresses,
    specials: [...specials.values()],
    params,
    shared,
    frameBytes: (routineOf.get(kernel) as Routine).frame.bytes,
    locationOf,
    addPlace(error, pc, warp) {
      if (!(error instanceof KernelError)) return error;
      const lane = error.lane ?? (warp.lanes[0] as number);
      return atLocation(error, locationOf(pc), threadName(warp, lane));
    },
  };
}

const finalReturn: Instruction = {
  kind: "instruction",
  at: -1,
  end: -1,
  predicate: undefined,
  operation: { text: "ret", opcode: "ret", modifiers: [] },
  operands: [],
};

function* variablesIn(body: readonly Statement[]): Generator<Variable> {
  for (const one of body) {
    if (one.kind === "variable") yield one;
    else if (one.kind === "block") yield* variablesIn(one.body);
  }
}

const kernelNames = (module: Module): readonly string[] =>
  module.items
    .filter((item) => item.kind === "function")
    .filter((func) => func.entry && func.body !== undefined)
    .map((func) => func.name);

function threadName(warp: Warp, lane: number): string {
  const [x, y] = warp.block.running.block;
  const linear = warp.index * LANES + lane;
  const thread = [linear % x, Math.floor(linear / x) % y, Math.floor(linear / x / y)];
  return `block (${warp.block.index.join(", ")}), thread (${thread.join(", ")})`;
}
