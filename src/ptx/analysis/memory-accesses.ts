import type { Instruction, Operand, Operation } from "../syntax/syntax.ts";
import { calleeOf } from "./call-graph.ts";

/**
 * A fresh read sees writes of other blocks: atomics, volatile and synchronising loads, loads that
 * bypass L1, copies to shared memory. A plain one does only after a fence or a barrier.
 */
export type Reading = "fresh" | "plain";

/** undefined if it reads no memory that other blocks may write. */
export function readingOf(one: Instruction): Reading | undefined {
  const { opcode, modifiers } = one.operation;
  switch (opcode) {
    case "ld":
      return isOwn(one.operation) ? undefined : modifiers.some(isFresh) ? "fresh" : "plain";
    case "atom":
      return isOwn(one.operation) ? undefined : "fresh";
    case "ldu":
      return "plain";
    case "wmma":
      return modifiers[0] === "load" && !isOwn(one.operation) ? "plain" : undefined;
    case "suld":
      return "fresh";
    case "cp":
      return isCopyIn(one.operation) ? "fresh" : undefined;
    case "call":
      // malloc may have to wait until another block frees memory.
      return calleeOf(one) === "malloc" ? "fresh" : undefined;
  }
  return undefined;
}

export function operandRead({ operation, operands }: Instruction): Operand | undefined {
  if (operation.opcode === "suld" || operation.opcode === "call") return undefined;
  if (operation.opcode === "wmma") return operands[1];
  return operands[1];
}

export function operandWritten({ operation, operands }: Instruction): Operand | undefined {
  const { opcode, modifiers } = operation;
  if (opcode === "st" || opcode === "red" || opcode === "stmatrix" || opcode === "cp")
    return opcode === "cp" && !isCopy(operation) ? undefined : operands[0];
  if (opcode === "wmma") return modifiers[0] === "store" ? operands[0] : undefined;
  if (opcode === "sust" || opcode === "sured") return operands[0];
  return opcode === "atom"
    ? operands[0]?.kind === "memory"
      ? operands[0]
      : operands[1]
    : undefined;
}

export const isLoad = ({ opcode, modifiers }: Operation) =>
  /^(ld|ldu|atom|ldmatrix|suld|wgmma)$/.test(opcode) ||
  (opcode === "wmma" && modifiers[0] === "load") ||
  (opcode === "cp" && isCopy({ opcode, modifiers, text: "" }));

export const isCopy = ({ opcode, modifiers }: Operation) =>
  opcode === "cp" &&
  !modifiers.includes("prefetch") &&
  modifiers.some((one) => one === "global" || one.startsWith("shared"));

const isCopyIn = (one: Operation) =>
  isCopy(one) && /^shared/.test(one.modifiers.find((part) => /^(shared|global)/.test(part)) ?? "");

/**
 * Accesses of scope `.cta` are own, too: with a write of another block they are a data race, as
 * only scopes that include both threads are morally strong (PTX ISA 9.0, 8.7).
 */
const isOwn = ({ modifiers }: Operation) =>
  modifiers.some((one) => /^(shared|local|param|const|cta$)/.test(one) || one === "nc");

const isFresh = (modifier: string) => /^(volatile|relaxed|acquire|mmio|cg|cv)$/.test(modifier);

/** Earlier writes of other blocks are visible to plain reads behind it. */
export const isFence = ({ opcode, modifiers }: Operation) =>
  (opcode === "membar" && modifiers[0] !== "cta") ||
  (opcode === "fence" &&
    !modifiers.includes("proxy") &&
    !/^(mbarrier_init|cta)$/.test(modifiers[1] ?? "")) ||
  ((opcode === "ld" || opcode === "atom" || opcode === "red") &&
    !modifiers.includes("cta") &&
    modifiers.some((one) => /^(acquire|acq_rel|volatile)$/.test(one)));
