// What an instruction reads and writes, as far as names go.
import { isSpecial } from "./special-registers.ts";
import type { Instruction, Operand } from "./syntax.ts";

/** Operations whose first operand is read though it is a register or a label. */
const readsFirst: ReadonlySet<string> = new Set([
  "bra",
  "brx",
  "call",
  "ret",
  "exit",
  "nanosleep",
  "stackrestore",
  "pmevent",
  "setmaxnreg",
]);

/**
 * The operands that an instruction writes: its first, if that is no address. `bar` writes only its reduction,
 * a call what it returns.
 */
export function written({ operation, operands }: Instruction): readonly Operand[] {
  const { opcode, modifiers } = operation;
  const first = operands[0];
  if (first === undefined) return [];
  if (opcode === "call") return first.kind === "list" ? [first] : [];
  if (readsFirst.has(opcode)) return [];
  if ((opcode === "bar" || opcode === "barrier") && !modifiers.includes("red")) return [];
  if (opcode === "tcgen05" && modifiers[0] === "dealloc") return [];
  const writes = first.kind === "name" || first.kind === "vector" || first.kind === "pair";
  return writes ? [first] : [];
}

/** The operands that it reads; an address that it writes to is read too. */
function read(instruction: Instruction): readonly Operand[] {
  const { operation, operands } = instruction;
  if (written(instruction).length === 0) return operands;
  // These add to what their first operand holds.
  const also = operation.opcode === "wgmma" ? operands : operands.slice(1);
  return also;
}

/**
 * Adds every name in the operand to `names`. Components of vectors are taken off, "%v" for
 * "%v.y"; those of special registers stay, because each is a register of its own: "%tid.x".
 */
export function addNames(operand: Operand, names: string[]): void {
  switch (operand.kind) {
    case "name":
      names.push(registerName(operand.name));
      return;
    case "sum":
      names.push(operand.name);
      return;
    case "memory":
      if (operand.base.kind === "name") names.push(registerName(operand.base.name));
      for (const one of operand.rest) addNames(one, names);
      return;
    case "vector":
    case "list":
      for (const one of operand.elements) addNames(one, names);
      return;
    case "pair":
      addNames(operand.first, names);
      addNames(operand.second, names);
      return;
    case "not":
      names.push(registerName(operand.operand.name));
      return;
    case "immediate":
    case "raw":
      return;
  }
}

const registerName = (name: string) => {
  if (!name.includes(".")) return name;
  const base = baseName(name);
  return isSpecial(base) ? name : base;
};

/** "%v" of "%v.y", "%tid" of "%tid.x". */
export function baseName(name: string): string {
  const dot = name.indexOf(".");
  return dot < 0 ? name : name.slice(0, dot);
}

/** All names in the operands of an instruction; without its predicate. */
export function operandNames({ operands }: Instruction): readonly string[] {
  const names: string[] = [];
  for (const one of operands) addNames(one, names);
  return names;
}

/** The names an instruction writes. */
export function writtenNames(instruction: Instruction): readonly string[] {
  const names: string[] = [];
  for (const one of written(instruction)) addNames(one, names);
  return names;
}

/** The names an instruction reads, its predicate first. */
export function readNames(instruction: Instruction): readonly string[] {
  const names: string[] = [];
  if (instruction.predicate !== undefined) names.push(instruction.predicate.register);
  for (const one of read(instruction)) addNames(one, names);
  return names;
}
