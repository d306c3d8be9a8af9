import { writtenNames } from "../syntax/operation-facts.ts";
import type { Func, Instruction, Operand } from "../syntax/syntax.ts";
import { constantValue, type Definitions, WARP_SIZE } from "./addresses.ts";
import type { Flow } from "./control-flow.ts";

export interface NumberRange {
  readonly least: number;
  readonly most: number;
}

/** CUDA C++ Programming Guide, compute capabilities, has this limit of a block. */
const MAX_THREADS = 1024;

const DEEPEST = 16;

/** The products of .maxntid and .reqntid limit them (PTX ISA 9.0, 11.4). */
export function maxThreads({ directives }: Func): number {
  const stated = directives
    .filter(({ name }) => name === ".maxntid" || name === ".reqntid")
    .map(({ text }) => text.split(",").reduce((product, one) => product * Number(one), 1))
    .filter((one) => one > 0);
  return Math.min(MAX_THREADS, ...stated);
}

/** `threads`: the most of a block. undefined if numbers may leave 31 bits on the way. */
export function numberRange(
  operand: Operand | undefined,
  flow: Flow,
  known: Definitions,
  threads: number,
  depth = 0,
): NumberRange | undefined {
  const number = constantValue(operand, known);
  if (!Number.isNaN(number)) return checked(number, number);
  if (operand?.kind !== "name" || depth > DEEPEST) return undefined;
  if (/^%tid\.[xyz]$/.test(operand.name)) return { least: 0, most: threads - 1 };
  if (operand.name === "%laneid") return { least: 0, most: WARP_SIZE - 1 };
  const writers = flow.instructions.filter((one) => writtenNames(one).includes(operand.name));
  const ranges = writers.map((one) =>
    one.predicate === undefined
      ? resultRange(one, (inner) => numberRange(inner, flow, known, threads, depth + 1), known)
      : undefined,
  );
  return ranges.length === 0 ? undefined : ranges.reduce(union);
}

function resultRange(
  { operation: { opcode, modifiers }, operands }: Instruction,
  of: (operand: Operand | undefined) => NumberRange | undefined,
  known: Definitions,
): NumberRange | undefined {
  const [to, first, second, third] = operands;
  if (to?.kind !== "name" && opcode !== "shfl") return undefined;
  if (!isWhole(modifiers.at(-1)) || (opcode === "cvt" && !isWhole(modifiers[0]))) return undefined;
  const a = of(first);
  const constant = constantValue(second, known);
  switch (opcode) {
    case "mov":
    case "cvt":
    // A lane gets the value of a lane, or keeps its own.
    case "shfl":
      return a;
    case "and":
      return constant >= 0 ? checked(0, Math.min(constant, a?.most ?? constant)) : undefined;
    case "bfe": {
      const bits = constantValue(third, known);
      return modifiers[0] === "u32" && bits >= 0 && bits < 31
        ? checked(0, 2 ** bits - 1)
        : undefined;
    }
    case "selp":
      return union(a, of(second));
  }
  if (a === undefined) return undefined;
  if (opcode === "shr") return over(a, 2 ** constant);
  if (opcode === "div") return over(a, constant);
  if (opcode === "shl") return checked(a.least * 2 ** constant, a.most * 2 ** constant);
  const b = of(second);
  if (b === undefined) return undefined;
  switch (opcode) {
    case "add":
      return checked(a.least + b.least, a.most + b.most);
    case "sub":
      return checked(a.least - b.most, a.most - b.least);
    case "min":
      return checked(Math.min(a.least, b.least), Math.min(a.most, b.most));
    case "max":
      return checked(Math.max(a.least, b.least), Math.max(a.most, b.most));
  }
  return undefined;
}

const isWhole = (type: string | undefined) => /^[bus](32|64)$/.test(type ?? "");

const over = ({ least, most }: NumberRange, by: number) =>
  by >= 1 ? checked(Math.floor(least / by), Math.floor(most / by)) : undefined;

const union = (a: NumberRange | undefined, b: NumberRange | undefined) =>
  a && b && checked(Math.min(a.least, b.least), Math.max(a.most, b.most));

const checked = (least: number, most: number): NumberRange | undefined =>
  least >= 0 && most < 2 ** 31 ? { least, most } : undefined;
