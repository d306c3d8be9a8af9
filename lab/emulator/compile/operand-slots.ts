// Gives operands their slots: registers, constants, addresses of variables, special registers. A value that is wider or
// narrower than the operation needs is converted in a slot of its own, before or after the instruction.

import {
  type Declaration,
  findFunction,
  findVariable,
  isSpecial,
  type Memory,
  type Operand,
} from "#ptx";
import { functionAddress } from "../instructions/layout.ts";
import type { Address, Site, Slot } from "../instructions/site.ts";
import { PARAM_WINDOW, WORD } from "../machine/memory.ts";
import { immediateBits, isType, parseInteger, wordsOf } from "../numbers/types.ts";
import type { Compilation, Compiled } from "./compilation.ts";

type OperandSlots = Pick<Site, "read" | "write" | "bits" | "address">;

export function operandSlots(
  compilation: Compilation,
  { scope, routine }: Compiled,
  { before, after, fail }: Pick<Site, "before" | "after" | "fail">,
): OperandSlots {
  const { module, slots, shared, params, addresses, specials } = compilation;
  const kernelParam = ({ variable }: Declaration): boolean =>
    compilation.kernel.params.includes(variable);

  function registerSlot(name: string): { slot: Slot; type: string } | undefined {
    const component = /\.([xyzwrgba])$/.exec(name);
    const declaration =
      findVariable(scope, name) ??
      (component === null ? undefined : findVariable(scope, name.slice(0, -2)));
    if (declaration?.variable.space !== "reg") return undefined;
    const { type } = declaration.variable;
    if (!isType(type)) return fail(`registers of type .${type}`);
    return { slot: slots.register(declaration, name), type };
  }

  /** The slot of the address of a variable or function, in its own space (not generic). */
  function addressOf(name: string, offset: number): { slot: Slot; space: string } {
    const declaration = findVariable(scope, name);
    if (declaration === undefined) {
      const func = findFunction(scope, name);
      if (func === undefined) return fail(`nothing is called ${name}`);
      compilation.routine(func);
      const bits = functionAddress(module, func);
      return { slot: slots.constant(bits, 2), space: "function" };
    }
    const { space } = declaration.variable;
    if (space === "shared") {
      const at = shared.offsetOf(declaration.declarator);
      return { slot: slots.constant(BigInt.asUintN(64, BigInt(at + offset)), 2), space };
    }
    if (space === "local" || (space === "param" && !kernelParam(declaration))) {
      const at = routine.frame.offsetOf(declaration.declarator) + offset;
      const slot = slots.claim(2);
      before((w, lanes, n) => {
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
      return { slot: slots.constant(BigInt(PARAM_WINDOW * WORD + at), 2), space: "" };
    }
    if (space !== "global" && space !== "const") return fail(`variables in .${space}`);
    const slot = slots.claim(2);
    addresses.push({ slot, words: 2, variable: name, offset });
    return { slot, space: "global" };
  }

  function special(name: string): Slot {
    const wide = name === "%clock64" || name === "%globaltimer" || name === "%gridid";
    const count = wide ? 2 : 1;
    if (/^%(clock|globaltimer)/.test(name)) {
      const slot = slots.claim(count);
      const high = name.endsWith("_hi");
      before((w, lanes, n) => {
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
      known = { slot: slots.claim(count), words: count, name };
      specials.set(name, known);
    }
    return known.slot;
  }

  /** Takes the low words of a wider value, or zero-extends a narrower one. */
  function fitWords(slot: Slot, from: number, to: number): Slot {
    if (from === to) return slot;
    const made = slots.claim(to);
    before((w, lanes, n) => {
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
        if (register !== undefined) return fitWords(register.slot, wordsOf(register.type), count);
        if (operand.name === "WARP_SZ") return slots.constant(32n, count);
        if (isSpecial(operand.name.replace(/\.[xyzw]$/, ""))) {
          const wide = /^%(clock64|globaltimer|gridid)$/.test(operand.name);
          return fitWords(special(operand.name), wide ? 2 : 1, count);
        }
        return fitWords(addressOf(operand.name, 0).slot, 2, count);
      }
      case "sum":
        return fitWords(addressOf(operand.name, offsetOf(operand.offset)).slot, 2, count);
      case "immediate": {
        const bits = immediateBits(operand.text, type);
        return bits === undefined
          ? fail(`the number ${operand.text}`)
          : slots.constant(bits, count);
      }
      case "not": {
        const source = read(operand.operand, "pred");
        const made = slots.claim(1);
        before((w, lanes, n) => {
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
    if (operand.name === "_") return slots.trash;
    const register = registerSlot(operand.name);
    if (register === undefined) return fail(`${operand.name} is no register`);
    const from = wordsOf(type);
    const to = wordsOf(register.type);
    if (from === to) return register.slot;
    const made = slots.claim(from);
    const signed = type.startsWith("s");
    const { slot } = register;
    after((w, lanes, n) => {
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

  function bits(operand: Operand, type: string): number {
    const register = operand.kind === "name" ? registerSlot(operand.name) : undefined;
    const own = register?.type ?? type;
    if (wordsOf(own) > 1) return wordsOf(own) * 32;
    return own.endsWith("16") ? 16 : 32;
  }

  return { read, write, bits, address };
}
