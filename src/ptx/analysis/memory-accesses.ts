// How instructions read and write memory that other blocks may write too.

import type { Instruction, Operand, Operation } from "../syntax/syntax.ts";
import { calleeOf } from "./call-graph.ts";

/**
 * Does a read that is repeated see writes of other blocks?
 * - fresh: yes. Atomics, volatile and synchronising loads, loads that bypass the L1 cache, copies to shared memory.
 * - plain: only after a fence or a barrier; without one, such a write is a data race.
 */
export type Reading = "fresh" | "plain";

/** How an instruction reads memory that other blocks may write; undefined if it does not. */
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

/** The operand with the address that is read; undefined if there is none. */
export function operandRead({ operation, operands }: Instruction): Operand | undefined {
  if (operation.opcode === "suld" || operation.opcode === "call") return undefined;
  if (operation.opcode === "wmma") return operands[1];
  return operands[1];
}

/** The operand with the address that is written; undefined for an instruction that writes no memory. */
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

/** Does it load from memory that other blocks may write, or from the block's own? */
export const isLoad = ({ opcode, modifiers }: Operation) =>
  /^(ld|ldu|atom|ldmatrix|suld|wgmma)$/.test(opcode) ||
  (opcode === "wmma" && modifiers[0] === "load") ||
  (opcode === "cp" && isCopy({ opcode, modifiers, text: "" }));

/** Copies between global and shared memory. */
export const isCopy = ({ opcode, modifiers }: Operation) =>
  opcode === "cp" &&
  !modifiers.includes("prefetch") &&
  modifiers.some((one) => one === "global" || one.startsWith("shared"));

/** From global to shared memory. */
const isCopyIn = (one: Operation) =>
  isCopy(one) && /^shared/.test(one.modifiers.find((part) => /^(shared|global)/.test(part)) ?? "");

/**
 * Is it memory that other blocks do not write while this block reads it? That also holds for the scope `.cta`: such an
 * access and a write of another block are a data race, so no block waits for another one with it (PTX ISA 9.0, 8.7:
 * only accesses whose scopes include both threads are morally strong).
 */
const isOwn = ({ modifiers }: Operation) =>
  modifiers.some((one) => /^(shared|local|param|const|cta$)/.test(one) || one === "nc");

const isFresh = (modifier: string) => /^(volatile|relaxed|acquire|mmio|cg|cv)$/.test(modifier);

/** Makes earlier writes of other blocks visible to plain reads after it. */
export const isFence = ({ opcode, modifiers }: Operation) =>
  (opcode === "membar" && modifiers[0] !== "cta") ||
  (opcode === "fence" &&
    !modifiers.includes("proxy") &&
    !/^(mbarrier_init|cta)$/.test(modifiers[1] ?? "")) ||
  ((opcode === "ld" || opcode === "atom" || opcode === "red") &&
    !modifiers.includes("cta") &&
    modifiers.some((one) => /^(acquire|acq_rel|volatile)$/.test(one)));
