// Memory that other blocks may write, as instructions read and write it.

import type { Instruction, Operand, Operation } from "../syntax/syntax.ts";
import { calleeOf } from "./call-graph.ts";

/**
 * How a read sees what others write while it is tried again:
 * - fresh: each time what is there by then: atomics, volatile and synchronising loads, those that pass by the first
 *   cache, copies into shared memory;
 * - plain: what others write meanwhile is a race, unless a fence or a barrier is between.
 */
export type Reading = "fresh" | "plain";

/** How an operation reads memory that may not be the block's own; undefined if it does not. */
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
      // Memory for it may have to be given back first.
      return calleeOf(one) === "malloc" ? "fresh" : undefined;
  }
  return undefined;
}

/** Where it reads from; undefined if no operand says. */
export function operandRead({ operation, operands }: Instruction): Operand | undefined {
  if (operation.opcode === "suld" || operation.opcode === "call") return undefined;
  if (operation.opcode === "wmma") return operands[1];
  return operands[1];
}

/** Where an instruction writes to memory; undefined for one that does not. */
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

/** Does it read memory, its own or others'? */
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

const isOwn = ({ modifiers }: Operation) =>
  modifiers.some((one) => /^(shared|local|param|const)/.test(one) || one === "nc");

const isFresh = (modifier: string) => /^(volatile|relaxed|acquire|mmio|cg|cv)$/.test(modifier);

/** What others have written before may be seen by plain reads behind it. */
export const isFence = ({ opcode, modifiers }: Operation) =>
  (opcode === "membar" && modifiers[0] !== "cta") ||
  (opcode === "fence" &&
    !modifiers.includes("proxy") &&
    !/^(mbarrier_init|cta)$/.test(modifiers[1] ?? "")) ||
  ((opcode === "ld" || opcode === "atom" || opcode === "red") &&
    modifiers.some((one) => /^(acquire|acq_rel|volatile)$/.test(one)));
