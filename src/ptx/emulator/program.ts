// A kernel and the functions it calls as one list of instructions, each compiled to a closure. What depends on
// a launch (addresses of variables, the grid, parameters) is filled in by `templateOf`.

import {
  blockScope,
  type Declaration,
  findFunction,
  findLabel,
  findVariable,
  functionScope,
  moduleScope,
  type Scope,
} from "../scopes.ts";
import { isSpecial } from "../special-registers.ts";
import type {
  Func,
  Instruction,
  Label,
  Memory,
  Module,
  Operand,
  Statement,
  Variable,
} from "../syntax.ts";
import type { Reduction } from "./block.ts";
import { Fault, noKernel, notEmulated, type Place, placed } from "./faults.ts";
import { byteSize, functionAddress, type Placement, placeVariables } from "./layout.ts";
import { meaningOf } from "./meanings.ts";
import { PARAM_WINDOW, WORD } from "./memory.ts";
import type { Address, Filled, Meaning, Routine, Site, Slot } from "./site.ts";
import { immediateBits, isType, parseInteger, wordsOf } from "./types.ts";
import { type Control, LANES, type Step, type Warp } from "./warp.ts";

interface FilledByVariable extends Filled {
  readonly variable: string;
  readonly offset: number;
}
interface FilledBySpecial extends Filled {
  readonly name: string;
}

export interface Program {
  readonly kernel: Func;
  readonly entry: number;
  readonly steps: readonly (Step | undefined)[];
  readonly controls: readonly (Control | undefined)[];
  /** What lanes that have met execute. */
  readonly meetings: readonly (Step | undefined)[];
  readonly reductions: readonly (Reduction | undefined)[];
  /** For each instruction the next control at or after it. */
  readonly ends: Int32Array;
  /** Register words with the constants in them. */
  readonly template: ArrayBuffer;
  readonly addresses: readonly FilledByVariable[];
  readonly specials: readonly FilledBySpecial[];
  readonly params: Placement;
  readonly shared: Placement;
  /** Bytes of the kernel's own frame. */
  readonly frameBytes: number;
  placeOf(pc: number): Place;
  located(fault: unknown, pc: number, warp: Warp): unknown;
}

/** Words that no instruction has written: neither 0 nor a usual value, so that reading one shows. */
const UNWRITTEN = 0x5eed5eed;

interface Compiled {
  readonly instruction: Instruction;
  readonly scope: Scope;
  readonly routine: Routine;
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
  let words = 0;
  let claimed: Filled[] = [];
  const claim = (count: number): Slot => {
    const slot = Math.ceil(words / (LANES * count)) * LANES * count;
    words = slot + LANES * count;
    claimed.push({ slot, words: count });
    return slot;
  };
  const registers = new Map<Declaration, Map<string, Slot>>();
  const constants = new Map<string, Slot>();
  const filledBits: { slot: Slot; words: number; bits: bigint }[] = [];
  const addresses: FilledByVariable[] = [];
  const specials = new Map<string, FilledBySpecial>();
  const trash = claim(4);
  // Carry flag of add.cc and its like, one word a lane.
  const carry = claim(1);

  // All of them first: memory of open length begins behind them.
  for (const item of module.items) {
    if (item.kind === "variable" && item.space === "shared") shared.add(item);
    if (item.kind === "function" && (item === kernel || !item.entry))
      for (const one of variablesIn(item.body ?? [])) if (one.space === "shared") shared.add(one);
  }

  /** Puts a function's instructions behind those that are there. */
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
    for (const one of body) {
      if (one.kind === "instruction") code.push({ instruction: one, scope, routine });
      else if (one.kind === "label") targets.set(one, code.length);
      else if (one.kind === "block") flatten(one.body, blockScope(one.body, scope), routine);
      else if (one.kind === "variable") {
        if (one.space === "local" || one.space === "param") routine.frame.add(one);
      }
    }
  }

  function place({ instruction, routine }: Compiled): Place {
    const { source } = module;
    const own = instruction.at >= 0;
    const line = own ? source.slice(0, instruction.at).split("\n").length : 0;
    const text = own
      ? source.slice(instruction.at, instruction.end).replace(/\s+/g, " ")
      : instruction.operation.text;
    return { func: routine.func.name, line, text };
  }

  function constant(bits: bigint, count: number): Slot {
    const key = `${count}:${bits}`;
    let slot = constants.get(key);
    if (slot === undefined) {
      slot = claim(count);
      constants.set(key, slot);
      filledBits.push({ slot, words: count, bits });
    }
    return slot;
  }

  const steps: (Step | undefined)[] = [];
  const controls: (Control | undefined)[] = [];
  const meetings: (Step | undefined)[] = [];
  const reductions: (Reduction | undefined)[] = [];

  function makeSite(pc: number, one: Compiled, first: Step[], last: Step[]): Site {
    const { instruction, scope, routine } = one;
    const { modifiers } = instruction.operation;
    const fail = (why: string): never => {
      throw notEmulated(place(one), why);
    };

    function registerSlot(name: string): { slot: Slot; type: string } | undefined {
      const component = /\.([xyzwrgba])$/.exec(name);
      const declaration =
        findVariable(scope, name) ??
        (component === null ? undefined : findVariable(scope, name.slice(0, -2)));
      if (declaration?.variable.space !== "reg") return undefined;
      const { type } = declaration.variable;
      if (!isType(type)) return fail(`registers of type .${type}`);
      let slots = registers.get(declaration);
      if (slots === undefined) {
        slots = new Map();
        registers.set(declaration, slots);
      }
      let slot = slots.get(name);
      if (slot === undefined) {
        slot = claim(wordsOf(type));
        slots.set(name, slot);
      }
      return { slot, type };
    }

    /** The slot that holds the address of a variable or function; in its own space, not generic. */
    function addressOf(name: string, offset: number): { slot: Slot; space: string } {
      const declaration = findVariable(scope, name);
      if (declaration === undefined) {
        const func = findFunction(scope, name);
        if (func === undefined) return fail(`nothing is called ${name}`);
        addRoutineLater(func);
        const bits = functionAddress(module, func);
        return { slot: constant(bits, 2), space: "function" };
      }
      const { space } = declaration.variable;
      if (space === "shared") {
        const at = shared.offsetOf(declaration.declarator);
        return { slot: constant(BigInt.asUintN(64, BigInt(at + offset)), 2), space };
      }
      if (space === "local" || (space === "param" && !kernelParam(declaration))) {
        const at = routine.frame.offsetOf(declaration.declarator) + offset;
        const slot = claim(2);
        first.push((w, lanes, n) => {
          for (let k = 0; k < n; k++) {
            const l = lanes[k] as number;
            w.i32[slot + 2 * l] = (w.frames[l] as number) + at;
            w.i32[slot + 2 * l + 1] = 0;
          }
        });
        return { slot, space: "local" };
      }
      if (space === "param") {
        const at = params.offsetOf(declaration.declarator) + offset;
        return { slot: constant(BigInt(PARAM_WINDOW * WORD + at), 2), space: "" };
      }
      if (space !== "global" && space !== "const") return fail(`variables in .${space}`);
      const slot = claim(2);
      addresses.push({ slot, words: 2, variable: name, offset });
      return { slot, space: "global" };
    }

    function special(name: string): Slot {
      const wide = name === "%clock64" || name === "%globaltimer" || name === "%gridid";
      const count = wide ? 2 : 1;
      if (/^%(clock|globaltimer)/.test(name)) {
        const slot = claim(count);
        const high = name.endsWith("_hi");
        first.push((w, lanes, n) => {
          const time = w.block.running.clock + w.executed;
          for (let k = 0; k < n; k++) {
            const at = slot + (lanes[k] as number) * count;
            w.i32[at] = high ? Math.floor(time / WORD) : time;
            if (wide) w.i32[at + 1] = Math.floor(time / WORD);
          }
        });
        return slot;
      }
      let known = specials.get(name);
      if (known === undefined) {
        known = { slot: claim(count), words: count, name };
        specials.set(name, known);
      }
      return known.slot;
    }

    /** Takes the low words of a wider value, or zero-extends a narrower one. */
    function fitted(slot: Slot, from: number, to: number): Slot {
      if (from === to) return slot;
      const made = claim(to);
      first.push((w, lanes, n) => {
        for (let k = 0; k < n; k++) {
          const l = lanes[k] as number;
          for (let i = 0; i < to; i++)
            w.i32[made + l * to + i] = i < from ? (w.i32[slot + l * from + i] as number) : 0;
        }
      });
      return made;
    }

    function read(operand: Operand, type: string): Slot {
      const count = wordsOf(type);
      switch (operand.kind) {
        case "name": {
          const register = registerSlot(operand.name);
          if (register !== undefined) return fitted(register.slot, wordsOf(register.type), count);
          if (operand.name === "WARP_SZ") return constant(32n, count);
          if (isSpecial(operand.name.replace(/\.[xyzw]$/, ""))) {
            const wide = /^%(clock64|globaltimer|gridid)$/.test(operand.name);
            return fitted(special(operand.name), wide ? 2 : 1, count);
          }
          return fitted(addressOf(operand.name, 0).slot, 2, count);
        }
        case "sum":
          return fitted(addressOf(operand.name, offsetOf(operand.offset)).slot, 2, count);
        case "immediate": {
          const bits = immediateBits(operand.text, type);
          return bits === undefined ? fail(`the number ${operand.text}`) : constant(bits, count);
        }
        case "not": {
          const source = read(operand.operand, "pred");
          const made = claim(1);
          first.push((w, lanes, n) => {
            for (let k = 0; k < n; k++) {
              const l = lanes[k] as number;
              w.i32[made + l] = w.i32[source + l] === 0 ? 1 : 0;
            }
          });
          return made;
        }
        default:
          return fail(`a ${operand.kind} as an operand here`);
      }
    }

    function offsetOf(text: string): number {
      if (text === "") return 0;
      const value = parseInteger(text.replace(/^\+/, "").replace(/\s/g, ""));
      return value === undefined ? fail(`the offset ${text}`) : Number(value);
    }

    function write(operand: Operand, type: string): Slot {
      if (operand.kind !== "name") return fail(`a ${operand.kind} as a destination`);
      if (operand.name === "_") return trash;
      const register = registerSlot(operand.name);
      if (register === undefined) return fail(`${operand.name} is no register`);
      const from = wordsOf(type);
      const to = wordsOf(register.type);
      if (from === to) return register.slot;
      const made = claim(from);
      const signed = type.startsWith("s");
      const { slot } = register;
      last.push((w, lanes, n) => {
        for (let k = 0; k < n; k++) {
          const l = lanes[k] as number;
          let top = 0;
          for (let i = 0; i < to; i++) {
            if (i < from) top = w.i32[made + l * from + i] as number;
            w.i32[slot + l * to + i] = i < from ? top : signed ? top >> 31 : 0;
          }
        }
      });
      return made;
    }

    function address(operand: Memory, space: string): Address {
      const { base } = operand;
      const offset = offsetOf(operand.offset);
      if (base.kind === "immediate") return { space, slot: read(base, "u64"), words: 2, offset };
      const register = registerSlot(base.name);
      if (register !== undefined) {
        const declared = space === "param" ? (routine.func.entry ? "" : "local") : space;
        return { space: declared, slot: register.slot, words: wordsOf(register.type), offset };
      }
      const own = addressOf(base.name, offset);
      const variable = findVariable(scope, base.name)?.variable;
      if (own.space === "shared" && space === "")
        return fail("a shared variable as a generic address");
      if (variable === undefined) return fail("a function as an address");
      return { space: own.space, slot: own.slot, words: 2, offset: 0 };
    }

    return {
      instruction,
      operands: instruction.operands,
      types: modifiers.filter(isType),
      pc,
      has: (modifier) => modifiers.includes(modifier),
      one: (choices) => choices.find((choice) => modifiers.includes(choice)),
      type(index = 0) {
        return this.types[index] ?? fail("its type is missing");
      },
      operand: (index) => instruction.operands[index] ?? fail(`operand ${index + 1} is missing`),
      read,
      write,
      bits(operand, type) {
        const register = operand.kind === "name" ? registerSlot(operand.name) : undefined;
        return wordsOf(register?.type ?? type) > 1
          ? wordsOf(register?.type ?? type) * 32
          : (register?.type ?? type).endsWith("16")
            ? 16
            : 32;
      },
      address,
      temporary: claim,
      before: (step) => void first.push(step),
      after: (step) => void last.push(step),
      fail,
      carry,
      routine,
      routineAt(low) {
        const func = module.items[low / 16 - 1];
        return func?.kind === "function" ? routineOf.get(func) : undefined;
      },
      everyFunction() {
        for (const item of module.items)
          if (item.kind === "function" && !item.entry && item.body !== undefined)
            addRoutineLater(item);
      },
      target(name) {
        const label = findLabel(scope, name);
        const at = label === undefined ? undefined : targets.get(label);
        return at ?? fail(`there is no label ${name}`);
      },
      callee(name) {
        const func = findFunction(scope, name);
        return func?.body === undefined ? undefined : addRoutineLater(func);
      },
      frameOffset(name) {
        const declaration = findVariable(scope, name);
        if (declaration === undefined) return fail(`nothing is called ${name}`);
        return {
          offset: routine.frame.offsetOf(declaration.declarator),
          bytes: byteSize(declaration),
        };
      },
      reduces: (reduction) => {
        reductions[pc] = reduction;
      },
    };
  }

  const queue: Routine[] = [];
  /** A function met while its caller is compiled: its instructions follow. */
  function addRoutineLater(func: Func): Routine {
    const known = routineOf.get(func);
    if (known !== undefined) return known;
    const routine = addRoutine(func);
    queue.push(routine);
    return routine;
  }

  const params = placeVariables(kernel.params);
  const kernelParam = (declaration: Declaration): boolean =>
    kernel.params.includes(declaration.variable as Variable);

  queue.push(addRoutine(kernel));
  for (let routine = queue.shift(); routine !== undefined; routine = queue.shift()) {
    const { func } = routine;
    if (func.body === undefined) continue;
    routine.entry = code.length;
    claimed = [];
    flatten(func.body, functionScope(func, outer), routine);
    // Behind the last instruction, a function returns.
    code.push({ instruction: finalReturn, scope: outer, routine });
    for (let pc = routine.entry; pc < code.length; pc++) {
      const one = code[pc] as Compiled;
      const first: Step[] = [];
      const last: Step[] = [];
      const site = makeSite(pc, one, first, last);
      const meaning = guardMeaning(meaningOf(site), site, first, last);
      if (typeof meaning === "function") steps[pc] = meaning;
      else {
        controls[pc] = meaning.control;
        meetings[pc] = meaning.meeting;
      }
    }
    routine.slots = claimed;
  }
  markRecursion(routines, code, outer);

  const ends = new Int32Array(code.length);
  for (let pc = code.length - 1, end = pc; pc >= 0; pc--) {
    if (controls[pc] !== undefined) end = pc;
    ends[pc] = end;
  }

  const template = new ArrayBuffer(Math.ceil(words / 2) * 8);
  const view = new Int32Array(template);
  view.fill(UNWRITTEN);
  for (const slot of predicateSlots(registers)) view.fill(0, slot, slot + LANES);
  for (const { slot, words: count, bits } of filledBits)
    for (let l = 0; l < LANES; l++)
      for (let i = 0; i < count; i++)
        view[slot + l * count + i] = Number((bits >> BigInt(32 * i)) & 0xffffffffn);

  const placeOf = (pc: number): Place => place(code[pc] as Compiled);
  return {
    kernel,
    entry: (routineOf.get(kernel) as Routine).entry,
    steps,
    controls,
    meetings,
    reductions,
    ends,
    template,
    addresses,
    specials: [...specials.values()],
    params,
    shared,
    frameBytes: (routineOf.get(kernel) as Routine).frame.bytes,
    placeOf,
    located(fault, pc, warp) {
      if (!(fault instanceof Fault)) return fault;
      const lane = fault.lane ?? (warp.lanes[0] as number);
      return placed(fault, placeOf(pc), threadName(warp, lane));
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

/** An instruction with its guard and with what has to run before and after it, as one. */
function guardMeaning(
  meaning: Meaning,
  site: Site,
  first: readonly Step[],
  last: readonly Step[],
): Meaning {
  const { predicate } = site.instruction;
  const slot =
    predicate === undefined
      ? undefined
      : site.read({ kind: "name", name: predicate.register }, "pred");
  const negated = predicate?.negated ?? false;
  if (typeof meaning === "function") {
    const step = sequence([...first, meaning, ...last]);
    if (slot === undefined) return step;
    return (warp, lanes, n) => {
      const some = warp.guard(lanes, n, slot, negated);
      if (some.n > 0) step(warp, some.lanes, some.n);
    };
  }
  const { meeting } = meaning;
  const prepare = first.length > 0 ? sequence(first) : undefined;
  const { control } = meaning;
  const whole = meeting === undefined ? undefined : sequence([meeting, ...last]);
  const prepared: Control = (warp) => {
    prepare?.(warp, warp.lanes, warp.n);
    return control(warp);
  };
  const made = prepare === undefined ? control : prepared;
  const guarded: Control = (warp) => {
    const { pc } = warp;
    const some = warp.guard(warp.lanes, warp.n, slot as number, negated);
    if (some.n === 0) return pc + 1;
    if (some.n === warp.n) return made(warp);
    warp.narrow(some, pc + 1);
    const next = made(warp);
    if (next >= 0) for (let k = 0; k < warp.n; k++) warp.pcs[warp.lanes[k] as number] = next;
    return -1;
  };
  return {
    control: slot === undefined ? made : guarded,
    ...(whole === undefined ? {} : { meeting: whole }),
  };
}

function sequence(steps: readonly Step[]): Step {
  const [first, second] = steps;
  if (first === undefined) return () => undefined;
  if (second === undefined) return first;
  if (steps.length === 2)
    return (warp, lanes, n) => {
      first(warp, lanes, n);
      second(warp, lanes, n);
    };
  return (warp, lanes, n) => {
    for (const step of steps) step(warp, lanes, n);
  };
}

/** Who can come back to itself by calls; an indirect call may reach any function whose address is taken. */
function markRecursion(
  routines: readonly Routine[],
  code: readonly Compiled[],
  outer: Scope,
): void {
  const calls = new Map<Func, Set<Func>>();
  for (const { instruction, routine } of code) {
    if (instruction.operation.opcode !== "call") continue;
    const callee = instruction.operands.find((one) => one.kind === "name");
    const func = callee === undefined ? undefined : findFunction(outer, callee.name);
    const known = calls.get(routine.func) ?? new Set<Func>();
    if (func !== undefined) known.add(func);
    else for (const one of routines) if (!one.func.entry) known.add(one.func);
    calls.set(routine.func, known);
  }
  for (const routine of routines) {
    const seen = new Set<Func>();
    const open = [...(calls.get(routine.func) ?? [])];
    for (let func = open.pop(); func !== undefined; func = open.pop()) {
      if (seen.has(func)) continue;
      seen.add(func);
      open.push(...(calls.get(func) ?? []));
    }
    routine.recursive = seen.has(routine.func);
  }
}

function* variablesIn(body: readonly Statement[]): Generator<Variable> {
  for (const one of body) {
    if (one.kind === "variable") yield one;
    else if (one.kind === "block") yield* variablesIn(one.body);
  }
}

function* predicateSlots(registers: ReadonlyMap<Declaration, ReadonlyMap<string, Slot>>) {
  for (const [declaration, slots] of registers)
    if (declaration.variable.type === "pred") yield* slots.values();
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
