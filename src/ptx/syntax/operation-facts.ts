import { isSpecial } from "./special-registers.ts";
import type { Instruction, Operand, Operation } from "./syntax.ts";

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

/** `bar` writes one only if it has a reduction; a call writes its list of results. */
export function writesFirst({ operation, operands }: Instruction): boolean {
  const { opcode, modifiers } = operation;
  const first = operands[0];
  if (first === undefined) return false;
  if (opcode === "call") return first.kind === "list";
  if (first.kind !== "name" && first.kind !== "vector" && first.kind !== "pair") return false;
  if (readsFirst.has(opcode)) return false;
  if (opcode === "bar" || opcode === "barrier") return modifiers.includes("red");
  return opcode !== "tcgen05" || modifiers[0] !== "dealloc";
}

/** wgmma accumulates into its result. */
export const readsResult = ({ opcode }: Operation) => opcode === "wgmma";

/** "%v.y" counts as "%v"; a special register keeps its component, as "%tid.x" is one of its own. */
export function addNames(operand: Operand, names: Sink): void {
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

interface Sink {
  push(name: string): unknown;
}

export const registerName = (name: string) => {
  if (!name.includes(".")) return name;
  const base = baseName(name);
  return isSpecial(base) ? name : base;
};

/** It makes "%v" of "%v.y" and "%tid" of "%tid.x". */
export function baseName(name: string): string {
  const dot = name.indexOf(".");
  return dot < 0 ? name : name.slice(0, dot);
}

export function writtenNames(instruction: Instruction): readonly string[] {
  const names: string[] = [];
  const [first] = instruction.operands;
  if (first !== undefined && writesFirst(instruction)) addNames(first, names);
  return names;
}

/** The predicate is last; an address that it writes to is read too. */
export function readNames(instruction: Instruction): readonly string[] {
  const names: string[] = [];
  const { operation, operands, predicate } = instruction;
  const from = writesFirst(instruction) && !readsResult(operation) ? 1 : 0;
  for (const one of operands.slice(from)) addNames(one, names);
  if (predicate !== undefined) names.push(predicate.register);
  return names;
}
